import { freeIfLarge } from '../../memory.ts';
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

/** Characters in which {@link changePieces} works at a time. */
const PIECE_CHARACTERS = 64 * 1024;
/** The beginning of white space, where a text may be cut: nothing that is compared or replaced crosses it. */
const BLANK_BEGINS = /(?<=\S)\s/;

/** Where a piece that begins at `at` ends: before white space, if there is any within as many characters again. */
function endOfPiece(text: string, at: number): number {
  const end = at + PIECE_CHARACTERS;
  if (end >= text.length) return text.length;
  const blank = BLANK_BEGINS.exec(text.slice(end - 1, end + PIECE_CHARACTERS))?.index;
  if (blank !== undefined) return end - 1 + blank;
  // Not within a line break or a character.
  return /[\n\udc00-\udfff]/.test(text[end] ?? '') ? end + 1 : end;
}

/**
 * Changes a text of any length in little memory. V8 keeps objects for each replacement until the end: a text of
 * 20 MB in short lines took 480 MB. And one large string that does not fit into the heap of a worker thread ends the
 * whole process, where many small objects only end the thread: so the result is outside of the heap.
 * @param change of a piece, of which nothing may depend on what is before or behind it; of Latin-1 it makes Latin-1
 */
export function changePieces(text: string, change: (piece: string) => string): string {
  if (text.length <= PIECE_CHARACTERS) return change(text);
  const [encoding, width] = /[\u0100-\uffff]/.test(text)
    ? (['utf16le', 2] as const)
    : (['latin1', 1] as const);
  let made = Buffer.allocUnsafeSlow(width * text.length);
  let length = 0;
  for (let at = 0; at < text.length; ) {
    const end = endOfPiece(text, at);
    const changed = change(text.slice(at, end));
    if (length + width * changed.length > made.length) made = Buffer.concat([made], 2 * made.length);
    length += made.write(changed, length, encoding);
    at = end;
  }
  const result = made.toString(encoding, 0, length);
  freeIfLarge(made);
  return result;
}

/** A string that every JSON parser and database accepts: no NUL, no lone surrogate. */
export function clean(text: string): string {
  const withoutNul = text.includes('\0') ? changePieces(text, (piece) => piece.replaceAll('\0', '')) : text;
  return withoutNul.toWellFormed();
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
