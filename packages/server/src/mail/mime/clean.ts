import { cut, MAX_FILENAME } from '../limits.ts';

/**
 * Characters that nobody sees: soft hyphen, grapheme joiner, zero-width spaces and joiners, marks and
 * isolates of writing direction, Mongolian separator, byte order mark. As the inside of a character class.
 */
export const INVISIBLE = '\\u00ad\\u034f\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff';
const INVISIBLES = new RegExp(`[${INVISIBLE}]`, 'g');

/** The text as eyes take it in, for what is searched; what is shown as sent keeps them. */
export function withoutInvisible(text: string): string {
  return text.replace(INVISIBLES, '');
}

/** A string that every JSON reader and store takes: no NUL, no half of a surrogate pair. */
export function clean(text: string): string {
  return (text.includes('\0') ? text.replaceAll('\0', '') : text).toWellFormed();
}

/** Runs of blanks become one space each; single spaces, nearly all there is, are not touched. */
export function foldBlanks(text: string): string {
  return text.replace(/\s{2,}|[^\S ]/g, ' ');
}

/** Without line breaks, which would let a mail write headers wherever its values are handed on. */
export function oneLine(text: string): string {
  return clean(/[\r\n]/.test(text) ? text.replace(/[\r\n]+/g, ' ') : text).trim();
}

/** The name as sent but for control characters; paths in it are shown, and have no effect here. */
export function cleanFilename(name: string): string | null {
  return cut(oneLine(name).replace(/\p{Cc}/gu, ''), MAX_FILENAME) || null;
}
