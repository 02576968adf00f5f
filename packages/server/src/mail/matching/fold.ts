import { changePieces } from '../mime/clean.ts';

/** White space that is not one space: no-break and other spaces, line breaks, and several in a row. */
const WHITE_SPACE = /[^\S ]\s*| \s+/g;

/**
 * Normalization sorts combining marks in quadratic time: six megabytes would take half an hour. The Stream-Safe Text
 * Format (Unicode Standard Annex #15, section 13) breaks such runs after 30 with a grapheme joiner.
 */
const MANY_MARKS = /\p{M}{30}/gu;

const NOT_ASCII = /[^\0-\x7f]/;

/** Makes texts equal that differ only in case, composition, white space, or the kind of quotation marks and hyphens. */
export const fold = (text: string): string => changePieces(text, foldPiece);

const foldPiece = (text: string): string =>
  (NOT_ASCII.test(text) ? foldUnicode(text) : text.toLowerCase()).replace(WHITE_SPACE, ' ');

const foldUnicode = (text: string): string =>
  text
    .replace(MANY_MARKS, '$&\u034f')
    .normalize('NFC')
    .toLowerCase()
    .normalize('NFC')
    .replace(/[\u2018\u2019\u201a\u201b]/g, "'")
    .replace(/[\u201c-\u201f]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, '-');
