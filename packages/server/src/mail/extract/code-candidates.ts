/** Limit of candidates (possible codes) per text. A text with more is usually a table of numbers. */
const MAX_CANDIDATES = 200;
/** This many different candidates of equal length in a row are a list, such as backup codes, and are ignored. */
const LIST_FROM = 3;

const TELLING = /\d|[A-Z]{3}|-[a-z]{3,12}-[a-z]/g;
const PART = /[0-9A-Za-z]/;
const TOKEN = /[0-9A-Za-z]+(?:-[0-9A-Za-z]+)*/y;
const GAP = '(?:[ \\u00a0\\u2009\\u202f]|\\t(?:[-–—]\\t)?|\\n[-–—]\\n)';
const GROUPS = new RegExp(
  `(?<!\\d\\t)(?:\\d{3}${GAP}\\d{3}|\\d{4}${GAP}\\d{4}|\\d\\d${GAP}\\d\\d${GAP}\\d\\d|\\d\\d${GAP}(?!19|20)\\d{4})(?!\\d|\\t\\d)`,
  'y',
);
/** A code that is spelled with one character per table cell, line or word. */
const SPELLED =
  /(?<![^\s*[(:：])[A-Z0-9](?:(?:[ \u00a0\t]|\s?\n){1,2}(?:[-–][ \t])?[A-Z0-9]){3,30}(?![0-9A-Za-z\u00c0-\u024f])/g;
const MIXED_GROUPS =
  /^([ \t*]{0,40})([A-Z0-9]{3}[ \t][A-Z0-9]{3}|[A-Z0-9]{4}[ \t][A-Z0-9]{4})(?=[ \t*]{0,40}$)/gm;
const CANADIAN_POSTAL_CODE = /^[A-Z]\d[A-Z]\s?\d[A-Z]\d$/;
const FORBIDDEN_BEFORE = /[$€£¥₹₺₽#@/\\.,+=&%_~'№•●∙A-Za-z\u00c0-\u024f\u0400-\u04ff©]/;
const FORBIDDEN_AFTER = /[+#%‰°€$£¥₹/\\@=_A-Za-z\u00c0-\u024f\u0400-\u04ff]/;

/** The form of a token. A `loose` token is rarely a code. `words` are joined, as in `calm-otter-swims`. */
export type Shape = 'digits' | 'year' | 'mixed' | 'loose' | 'words';

export interface Candidate {
  start: number;
  end: number;
  value: string;
  shape: Shape;
}

type Range = Pick<Candidate, 'start' | 'end'>;

/** The first pattern that matches a token sets its shape. A token of shape undefined is never a code. */
const FORMS: readonly (readonly [RegExp, Shape | undefined])[] = [
  [/^(?:19|20)\d\d(?:(?:0\d|1[0-2])[0-3]\d)?$/, 'year'],
  [/^\d{4,8}$/, 'digits'],
  [/^\d+$/, undefined],
  [/^(?:19|20)\d\d-(?:19|20)\d\d$/, undefined],
  [/^(?:\d{3}-\d{3}|\d{4}-\d{4})$/, 'digits'],
  [/^\d\d-\d\d(?:-\d\d)?$|^\d\d?-\d\d?-(?!19|20)\d{4}$/, 'loose'],
  [/^\d[\d-]*$/, undefined],
  [/^[a-z]{3,12}(?:-[a-z]{3,12}){2,5}$/, 'words'],
  [/^[A-Z]-\d{4,8}$/, 'mixed'],
  // Also the form of issue keys.
  [/^(?:[A-Z]{2,5}|[A-Z]\d)-\d{4,8}$/, 'loose'],
  // A standard or a product, such as "SHA-256" or "UTF-16".
  [/^[A-Z]{2,5}-\d{1,3}$/, undefined],
  [/^(?=.*\d)[A-Z0-9]{3,5}(?:-[A-Z0-9]{3,5}){1,3}$/, 'mixed'],
  [/^[A-Z0-9]{3,5}(?:-[A-Z0-9]{3,5}){1,3}$/, 'loose'],
  [/^(?=.*\d)[A-Z0-9]{4,10}$/, 'mixed'],
  [/^(?=.*\d)[A-Za-z0-9]{5,10}$/, 'loose'],
  [/^[A-Z]{5,8}$/, 'loose'],
];

const shapeOf = (token: string): Shape | undefined => FORMS.find(([form]) => form.test(token))?.[1];

function isPartOfMore(text: string, { start, end }: Range): boolean {
  const before = text.slice(Math.max(0, start - 4), start);
  if (FORBIDDEN_BEFORE.test(before.slice(-1)) && !/[A-Za-z][.=]$/.test(before)) return true;
  // "[ABC-1234]" is an issue key.
  if (before.endsWith('[') && text.charAt(end) === ']' && /[A-Z]-/.test(text.slice(start, end))) return true;
  if (/\d\s?[:–-]$|\d $|[\dA-Za-z\u00c0-\u04ff] ?> ?$/.test(before)) return true;
  // "**4821" is the end of a masked number; "**4821**" is bold text.
  if (before.endsWith('**') && text.charAt(end) !== '*') return true;
  const following = text.slice(end, end + 2);
  return FORBIDDEN_AFTER.test(following.charAt(0)) || /^[.,:–-]\d|^ \d/.test(following);
}

function nextToken(text: string, from: number): Range | undefined {
  TELLING.lastIndex = from;
  if (!TELLING.test(text)) return undefined;
  let start = TELLING.lastIndex - 1;
  const isPart = (at: number) => at >= from && PART.test(text.charAt(at));
  while (isPart(start - 1) || (text.charAt(start - 1) === '-' && isPart(start - 2))) start--;
  TOKEN.lastIndex = start;
  TOKEN.test(text);
  return { start, end: TOKEN.lastIndex };
}

function withoutLists(text: string, all: readonly Candidate[]): Candidate[] {
  const kept: Candidate[] = [];
  let run: Candidate[] = [];
  for (const [i, one] of all.entries()) {
    run.push(one);
    const next = all[i + 1];
    if (next?.value.length === one.value.length && !/\p{L}/u.test(text.slice(one.end, next.start))) continue;
    if (new Set(run.map(({ value }) => value)).size < LIST_FROM) kept.push(...run);
    run = [];
  }
  return kept;
}

function piecedTokens(text: string): Candidate[] {
  const found: Candidate[] = [];
  const add = (pieces: string, start: number): void => {
    const value = pieces.replace(/[\s–-]/g, '');
    const shape = /^\d+$/.test(value) ? 'digits' : shapeOf(value);
    if (shape === undefined || value.length > 10 || (shape === 'digits' && value.length > 8)) return;
    found.push({ start, end: start + pieces.length, value, shape });
  };
  for (const { 0: pieces, index } of text.matchAll(SPELLED)) add(pieces, index);
  for (const { 1: indent = '', 2: pieces = '', index } of text.matchAll(MIXED_GROUPS)) {
    const isMixed = /\d/.test(pieces) && /[A-Z]/.test(pieces);
    if (isMixed && !CANADIAN_POSTAL_CODE.test(pieces)) add(pieces, index + indent.length);
  }
  return found.sort((a, b) => a.start - b.start);
}

function tokenAt(text: string, { start, end }: Range): Candidate | undefined {
  const token = text.slice(start, end);
  GROUPS.lastIndex = start;
  const groups = /^\d{2,4}$/.test(token) ? GROUPS.exec(text)?.[0] : undefined;
  if (groups !== undefined) {
    return { start, end: start + groups.length, value: groups.replace(/\D/g, ''), shape: 'digits' };
  }
  const shape = shapeOf(token);
  const value = /^[\d-]+$/.test(token) ? token.replaceAll('-', '') : token;
  return shape === undefined ? undefined : { start, end, value, shape };
}

export function candidatesOf(text: string): Candidate[] {
  const pieced = piecedTokens(text);
  const found: Candidate[] = [];
  for (let from = 0; found.length < MAX_CANDIDATES; ) {
    while (pieced[0] !== undefined && pieced[0].start < from) pieced.shift();
    const [piece] = pieced;
    const token = nextToken(text, from);
    const isPieced = piece !== undefined && piece.start <= (token?.start ?? text.length);
    const candidate = isPieced ? piece : token && tokenAt(text, token);
    if (candidate !== undefined && !isPartOfMore(text, candidate)) found.push(candidate);
    const end = candidate?.end ?? token?.end;
    if (end === undefined) break;
    from = end;
  }
  return withoutLists(text, found);
}
