import { cut, MAX_FILENAME } from '../limits.ts';

/**
 * Invisible characters: soft hyphen, grapheme joiner, zero-width spaces and joiners, marks and
 * isolates of writing direction, Mongolian separator, byte order mark. As the inside of a character class.
 */
export const INVISIBLE = '\\u00ad\\u034f\\u061c\\u180e\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff';
const INVISIBLES = new RegExp(`[${INVISIBLE}]`, 'g');

/** The text as it is displayed, for searching. */
export function withoutInvisible(text: string): string {
  return text.replace(INVISIBLES, '');
}

/** Characters in which {@link replaceEach} works at a time. */
const PIECE_CHARACTERS = 64 * 1024;

/**
 * `replaceAll` in little memory. V8 makes two objects for each replacement and keeps all until the end: a text of
 * 20 MB in short lines took 480 MB.
 * @param search one or two characters
 */
export function replaceEach(text: string, search: string, replacement: string): string {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; ) {
    let end = at + PIECE_CHARACTERS;
    if (search.length > 1 && text.startsWith(search, end - 1)) end++;
    pieces.push(text.slice(at, end).split(search).join(replacement));
    at = end;
  }
  return pieces.join('');
}

/** A string that every JSON parser and database accepts: no NUL, no lone surrogate. */
export function clean(text: string): string {
  return (text.includes('\0') ? replaceEach(text, '\0', '') : text).toWellFormed();
}

/** Replaces each run of white space with one space. */
export function foldBlanks(text: string): string {
  return text.replace(/\s{2,}|[^\S ]/g, ' ');
}

/** Without line breaks, which would allow header injection wherever the value is used. */
export function oneLine(text: string): string {
  return clean(/[\r\n]/.test(text) ? text.replace(/[\r\n]+/g, ' ') : text).trim();
}

/** The name as sent, without control characters. Paths in it are kept; they have no effect here. */
export function cleanFilename(name: string): string | null {
  return cut(oneLine(name).replace(/\p{Cc}/gu, ''), MAX_FILENAME) || null;
}
