/** Numbers looked at in one text; a table of thousands holds no code. */
const MAX_CANDIDATES = 200;
/** So many different numbers of one length with no word between them are a list. */
const LIST_FROM = 3;

/** What a token holds that is no plain word. */
const TELLING = /\d|[A-Z]{3}|-[a-z]{3,12}-[a-z]/g;
const PART = /[0-9A-Za-z]/;
const TOKEN = /[0-9A-Za-z]+(?:-[0-9A-Za-z]+)*/y;
const SPACED =
  /\d{3}[ \u00a0\u2009\u202f]\d{3}(?!\d)|\d{4}[ \u00a0\u2009\u202f]\d{4}(?!\d)|\d\d[ \u00a0]\d\d[ \u00a0]\d\d(?!\d)|\d(?:[ \u00a0\t]|\s?\n){1,2}\d(?:(?:[ \u00a0\t]|\s?\n){1,2}\d){2,6}(?!\d)/y;
const FORBIDDEN_BEFORE = /[$€£¥₹₺₽#@/\\.,+=&%_~'№A-Za-z\u00c0-\u024f\u0400-\u04ff©]/;
const FORBIDDEN_AFTER = /[%‰°€$£¥₹/\\@=_A-Za-z\u00c0-\u024f\u0400-\u04ff]/;

/** How freely a token may be taken for a code; `words` are plain ones in a chain (`calm-otter-swims`). */
export type Shape = 'digits' | 'year' | 'mixed' | 'loose' | 'words';

/** A token that could be a code, by its looks alone. */
export interface Candidate {
  /** Place in the text, characters. */
  start: number;
  end: number;
  /** What a person would type. */
  value: string;
  shape: Shape;
}

function shapeOf(token: string): Shape | undefined {
  if (/^\d+$/.test(token)) {
    if (token.length < 4 || token.length > 8) return undefined;
    return /^(?:19|20)\d\d(?:(?:0\d|1[0-2])[0-3]\d)?$/.test(token) ? 'year' : 'digits';
  }
  if (/^(?:\d{3}-\d{3}|\d{4}-\d{4})$/.test(token)) return 'digits';
  if (/^\d\d-\d\d(?:-\d\d)?$/.test(token)) return 'loose';
  if (/^\d[\d-]*$/.test(token)) return undefined;
  if (/^[a-z]{3,12}(?:-[a-z]{3,12}){2,5}$/.test(token)) return 'words';
  if (/^[A-Z]{1,3}-\d{4,8}$/.test(token)) return 'mixed';
  const hasDigit = /\d/.test(token);
  if (/^[A-Z0-9]{3,5}(?:-[A-Z0-9]{3,5}){1,3}$/.test(token)) return hasDigit ? 'mixed' : 'loose';
  if (hasDigit && /^[A-Z0-9]{4,10}$/.test(token)) return 'mixed';
  if (hasDigit && /^[A-Za-z0-9]{5,10}$/.test(token)) return 'loose';
  return /^[A-Z]{5,8}$/.test(token) ? 'loose' : undefined;
}

/** What stands right beside a token says that it is part of something longer: a price, a time, an address. */
function isPartOfMore(text: string, start: number, end: number): boolean {
  const before = text.slice(Math.max(0, start - 2), start);
  if (FORBIDDEN_BEFORE.test(before.slice(-1)) && !/[A-Za-z][.=]$/.test(before)) return true;
  if (/\d\s?[:–-]$|\d $/.test(before)) return true;
  const following = text.slice(end, end + 2);
  return FORBIDDEN_AFTER.test(following.charAt(0)) || /^[.,:–-]\d|^ \d/.test(following);
}

/**
 * Start and end of the next token from `from` on that is no plain word. Nearly all of a mail is plain
 * words: the search goes for what they do not have, and takes the token around it.
 */
function nextToken(text: string, from: number): { start: number; end: number } | undefined {
  TELLING.lastIndex = from;
  if (!TELLING.test(text)) return undefined;
  let start = TELLING.lastIndex - 1;
  const isPart = (at: number) => at >= from && PART.test(text.charAt(at));
  while (isPart(start - 1) || (text.charAt(start - 1) === '-' && isPart(start - 2))) start--;
  TOKEN.lastIndex = start;
  TOKEN.test(text);
  return { start, end: TOKEN.lastIndex };
}

/**
 * Without what stands in a list: backup codes, the numbers of a table. Nobody says which of them to type.
 */
function withoutLists(text: string, all: readonly Candidate[]): Candidate[] {
  const kept: Candidate[] = [];
  let run: Candidate[] = [];
  const endRun = () => {
    if (new Set(run.map(({ value }) => value)).size < LIST_FROM) kept.push(...run);
    run = [];
  };
  for (const one of all) {
    const last = run.at(-1);
    const goesOn = last !== undefined && last.value.length === one.value.length;
    if (!goesOn || /\p{L}/u.test(text.slice(last.end, one.start))) endRun();
    run.push(one);
  }
  endRun();
  return kept;
}

/** The tokens of a text that look like a code, in order; those of lists left out. */
export function candidatesOf(text: string): Candidate[] {
  const found: Candidate[] = [];
  let next = nextToken(text, 0);
  while (next !== undefined && found.length < MAX_CANDIDATES) {
    const { start } = next;
    let token = text.slice(start, next.end);
    SPACED.lastIndex = start;
    const spaced = /^\d{1,4}$/.test(token) ? SPACED.exec(text)?.[0] : undefined;
    if (spaced !== undefined) token = spaced.replace(/\s/g, '');
    const end = start + (spaced ?? token).length;
    next = nextToken(text, end);
    const shape = spaced === undefined ? shapeOf(token) : 'digits';
    if (shape === undefined || isPartOfMore(text, start, end)) continue;
    const value = /^[\d-]+$/.test(token) ? token.replaceAll('-', '') : token;
    found.push({ start, end, value, shape });
  }
  return withoutLists(text, found);
}
