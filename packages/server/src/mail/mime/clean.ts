import { cut, MAX_FILENAME } from '../limits.ts';

/**
 * Characters without a width, as a character class for regular expressions with the flag `v`: all that Unicode says
 * to ignore where a font does not show them (The Unicode Standard, section 5.21), such as soft hyphens, zero-width
 * spaces and joiners, marks of writing direction and fillers. Not the variation selectors: they change how the
 * character before them looks.
 */
export const INVISIBLE = '[\\p{Default_Ignorable_Code_Point}--\\p{Variation_Selector}]';
const INVISIBLES = new RegExp(INVISIBLE, 'gv');

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
