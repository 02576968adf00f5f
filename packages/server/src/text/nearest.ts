/**
 * Suggestions for mistyped names: fields and parameters of the API, settings, commands. A leaf module
 * without state; every caller words its own sentence around the result, or uses {@link didYouMean}.
 */

/** Longer names are not typing mistakes, and the comparison costs length × length. */
const MAX_NAME_LENGTH = 64;
/** More typing errors than these, or in a larger share of the name, would suggest unrelated names. */
const MAX_ERRORS = 3;
const MAX_ERROR_SHARE = 0.4;
/** Abbreviations and single words shorter than this match too much. */
const MIN_ABBREVIATION = 3;
/** Values in messages are cut here, so that a hostile value cannot fill a response or a log. */
const MAX_QUOTED_LENGTH = 60;
/** Only so much of a value is searched for credentials; enough to fill the cut, whatever is replaced. */
const MAX_INSPECTED_LENGTH = 1_000;

/** Lower case without separators, so that `ttl_minutes`, `TTL-Minutes` and `ttlMinutes` are equal. */
const fold = (name: string): string => name.toLowerCase().replace(/[\s._-]+/g, '');

/** `webhookUrl`, `webhook_url` and `webhook.url` each give `['webhook', 'url']`. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[\s._/-]+/)
    .filter(Boolean);

/**
 * Optimal string alignment distance: insertions, deletions, substitutions and swaps of two neighbours.
 * Costs the product of both lengths; callers bound them.
 */
function distance(left: string, right: string): number {
  let before: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const next = [row];
    for (let column = 1; column <= right.length; column++) {
      const isSame = left[row - 1] === right[column - 1];
      let best = Math.min(
        (last[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwap =
        row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      if (isSwap) best = Math.min(best, (before[column - 2] ?? 0) + 1);
      next.push(best);
    }
    before = last;
    last = next;
  }
  return last[right.length] ?? 0;
}

/** How far a known name is from the given one; lower is nearer, Infinity is unrelated. */
function rank(given: string, known: string): number {
  const wrong = fold(given);
  const right = fold(known);
  if (wrong === right) return 0;
  const errors = distance(wrong, right);
  const shorter = Math.min(wrong.length, right.length);
  const longer = Math.max(wrong.length, right.length);
  // With every character of the shorter name replaced nothing is alike: `a` is not nearly `b`.
  const isSlip = errors <= Math.min(MAX_ERRORS, longer * MAX_ERROR_SHARE) && errors < shorter;
  if (isSlip) return errors;
  if (wrong.length < MIN_ABBREVIATION) return Number.POSITIVE_INFINITY;
  // The beginning of the name, or one of its words: `ttl`, `timeout`, `url`, `attachments`.
  if (right.startsWith(wrong)) return 100;
  const words = wordsOf(known);
  if (words.some((_, from) => words.slice(from).join('').startsWith(wrong))) return 200;
  // The same beginning with another end: `ttlSeconds` for `ttlMinutes`, `timeoutMs` for `timeoutSeconds`.
  const [first = ''] = words;
  const [begin = ''] = wordsOf(given);
  const hasSameStart = first.length >= MIN_ABBREVIATION && (begin === first || begin === `${first}s`);
  return hasSameStart ? 300 + errors : Number.POSITIVE_INFINITY;
}

/**
 * The known name that was probably meant: one with few typing errors, one that the given name
 * abbreviates (`ttl` for `ttlMinutes`), or one that begins with the same word. Case and separators do
 * not count.
 *
 * Names that all begin with the same word (`MAYFLY_…`) should be compared without it.
 *
 * @param given what was written; longer than 64 characters has no nearest name
 * @param known all correct names, the most common first: of two equally near ones the first is returned
 */
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

/** ` Did you mean "ttlMinutes"?` with its leading space, or '' where no known name is near. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const name = nearest(given, known);
  return name === undefined ? '' : ` Did you mean "${name}"?`;
}

const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}"\\]/gu;
/** API keys, read tokens and webhook secrets, wherever in a text a caller may have put one. */
const CREDENTIAL = /(mf[kt]_|whsec_)[\w+/=-]+/g;

const escapeCharacter = (character: string): string =>
  character === '"' || character === '\\'
    ? `\\${character}`
    : `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** A text without the secret part of any credential in it: `mfk_…`. */
export const withoutCredentials = (text: string): string => text.replace(CREDENTIAL, '$1…');

/**
 * A value as it may stand in an error message: in double quotes, cut to 60 characters, control,
 * formatting and direction characters escaped, and without the secret part of credentials.
 */
export function quoted(value: string): string {
  const characters = Array.from(withoutCredentials(value.slice(0, MAX_INSPECTED_LENGTH)));
  const isCut = characters.length > MAX_QUOTED_LENGTH || value.length > MAX_INSPECTED_LENGTH;
  const shown = characters.slice(0, MAX_QUOTED_LENGTH).join('').replace(UNPRINTABLE, escapeCharacter);
  return `"${shown}${isCut ? '…' : ''}"`;
}
