/** Longer names are not compared: the time of a comparison grows with the square of the length. */
const MAX_NAME_LENGTH = 64;
const MIN_ABBREVIATION = 3;
const MAX_QUOTED_LENGTH = 60;
const MAX_INSPECTED_LENGTH = 1_000;

/** `ttl_minutes`, `TTL-Minutes` and `ttlMinutes` become equal. */
const fold = (name: string): string => name.toLowerCase().replace(/[\s._-]+/g, '');

const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s._/-]+/)
    .filter(Boolean);

function nextRow(a: string, b: string, i: number, last: number[], beforeLast: number[]): number[] {
  const row = [i];
  for (let j = 1; j <= b.length; j++) {
    const isSame = a[i - 1] === b[j - 1];
    const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
    const changed = (last[j - 1] ?? 0) + (isSame ? 0 : 1);
    const swapped = isSwapped ? (beforeLast[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
    row.push(Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, changed, swapped));
  }
  return row;
}

/** Removes the common start and end of both names, which do not change the distance. */
function differingParts(one: string, other: string): [string, string] {
  let start = 0;
  while (start < one.length && one[start] === other[start]) start++;
  let [a, b] = [one.slice(start), other.slice(start)];
  while (a !== '' && b !== '' && a.at(-1) === b.at(-1)) [a, b] = [a.slice(0, -1), b.slice(0, -1)];
  return [a, b];
}

/** Restricted Damerau-Levenshtein distance. Above `most`, the result is `most + 1`. */
export function typos(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) > most) return most + 1;
  const [a, b] = differingParts(one, other);
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = nextRow(a, b, i, last, beforeLast);
    if (Math.min(...row) > most) return most + 1;
    beforeLast = last;
    last = row;
  }
  return Math.min(last[b.length] ?? 0, most + 1);
}

function rank(given: string, known: string): number {
  const wrong = fold(given);
  const right = fold(known);
  if (wrong === right) return 0;
  const errors = typos(wrong, right, MAX_NAME_LENGTH);
  const shorter = Math.min(wrong.length, right.length);
  const longer = Math.max(wrong.length, right.length);
  const isSlip = errors <= Math.min(3, longer * 0.4) && errors < shorter;
  if (isSlip) return errors;
  if (wrong.length < MIN_ABBREVIATION) return Number.POSITIVE_INFINITY;
  // The given name is the start of the known name (`ttl` for `ttlMinutes`), or of one of its later words.
  if (right.startsWith(wrong)) return 100;
  const words = wordsOf(known);
  if (words.some((_, from) => words.slice(from).join('').startsWith(wrong))) return 200;
  // Both names have the same first word: `ttlSeconds` for `ttlMinutes`.
  const [first = ''] = words;
  const [begin = ''] = wordsOf(given);
  const hasSameStart = first.length >= MIN_ABBREVIATION && (begin === first || begin === `${first}s`);
  return hasSameStart ? 300 + errors : Number.POSITIVE_INFINITY;
}

/** Returns the most similar known name. Omit common prefixes of names, which make all of them similar. */
export function nearest(given: string, known: Iterable<string>): string | undefined {
  if (given.length > MAX_NAME_LENGTH) return undefined;
  let best: string | undefined;
  let bestRank = Number.POSITIVE_INFINITY;
  for (const name of known) {
    if (name.length > MAX_NAME_LENGTH) continue;
    const nameRank = rank(given, name);
    if (nameRank < bestRank) {
      best = name;
      bestRank = nameRank;
    }
  }
  return best;
}

/** Returns ` Did you mean "ttlMinutes"?` with a leading space, or '' if no known name is similar. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const name = nearest(given, known);
  return name === undefined ? '' : ` Did you mean "${name}"?`;
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}"\\]/gu;
const CREDENTIAL = /(mf[kt]_|whsec_)[\w+/=-]+/g;

const escapeCharacter = (character: string): string =>
  character === '"' || character === '\\'
    ? `\\${character}`
    : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

export const withoutCredentials = (text: string): string => text.replace(CREDENTIAL, '$1…');

/** Quotes a value for an error message: shortens it, escapes invisible characters, removes credentials. */
export function quoted(value: string): string {
  const characters = Array.from(withoutCredentials(value.slice(0, MAX_INSPECTED_LENGTH)));
  const isCut = characters.length > MAX_QUOTED_LENGTH || value.length > MAX_INSPECTED_LENGTH;
  const shown = characters.slice(0, MAX_QUOTED_LENGTH).join('').replace(UNPRINTABLE, escapeCharacter);
  return `"${shown}${isCut ? '…' : ''}"`;
}
