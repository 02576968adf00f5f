import { freeIfLarge } from '../../memory.ts';
import { cut, MAX_FILENAME } from '../limits.ts';

/** Pattern (flag `v`) for zero-width characters (Unicode section 5.21), except variation selectors. */
export const INVISIBLE = '[\\p{Default_Ignorable_Code_Point}--\\p{Variation_Selector}]';
const INVISIBLES = new RegExp(INVISIBLE, 'gv');

export const withoutInvisible = (text: string): string => text.replace(INVISIBLES, '');

const PIECE_CHARACTERS = 64 * 1024;
/** Long texts are split where white space begins, because no caller's pattern matches across such a place. */
const BLANK_BEGINS = /(?<=\S)\s/;

function endOfPiece(text: string, at: number): number {
  const end = at + PIECE_CHARACTERS;
  if (end >= text.length) return text.length;
  const blank = BLANK_BEGINS.exec(text.slice(end - 1, end + PIECE_CHARACTERS))?.index;
  if (blank !== undefined) return end - 1 + blank;
  return /[\n\udc00-\udfff]/.test(text[end] ?? '') ? end + 1 : end;
}

/**
 * Applies `change` to pieces of a text. V8 allocates an object per replacement, so `replace` on a large text
 * could exceed the heap of a worker.
 * @param change must not depend on other pieces, and must not add characters above U+00FF to Latin-1 text
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

/** Removes NUL and lone surrogates, which some JSON parsers and databases reject. */
export function clean(text: string): string {
  const withoutNul = text.includes('\0') ? changePieces(text, (piece) => piece.replaceAll('\0', '')) : text;
  return withoutNul.toWellFormed();
}

export const foldBlanks = (text: string): string => text.replace(/\s{2,}|[^\S ]/g, ' ');

/** Replaces line breaks, which would allow header injection, by spaces. */
export const oneLine = (text: string): string =>
  clean(/[\r\n]/.test(text) ? text.replace(/[\r\n]+/g, ' ') : text).trim();

/** A path in the name is kept, because this server never opens a file by this name. */
export const cleanFilename = (name: string): string | null =>
  cut(oneLine(name).replace(/\p{Cc}/gu, ''), MAX_FILENAME) || null;
