import { typos } from '../../text/nearest.ts';
import { domainOf, inboxAddress, parseAddress } from '../address.ts';

const MAX_TYPOS = 2;
const SHORT_NAME = 6;

/** The address is in lower case and without a tag. */
export interface WantedAddress {
  /** For a catch-all, only domains are compared. The sink takes all other mail, so no address is like it. */
  kind: 'address' | 'catch-all' | 'sink';
  address: string;
  domain: string;
}

const localOf = (address: string): string => address.slice(0, address.lastIndexOf('@'));

const withoutSeparators = (text: string): string => text.replaceAll(/[._+=-]/g, '');
const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');
const lettersOf = (text: string): string => withoutSeparators(text).replaceAll(/\d/g, '');

function isSubsequence(part: string, whole: string): boolean {
  let at = 0;
  for (const letter of whole) if (letter === part.charAt(at)) at++;
  return at === part.length;
}

const isTagged = (name: string, tagged: string): boolean =>
  tagged.startsWith(name) && /^[._+=-]./.test(tagged.slice(name.length));

function areLocalPartsSimilar(a: string, b: string): boolean {
  if (withoutSeparators(a) === withoutSeparators(b)) return true;
  if (isTagged(a, b) || isTagged(b, a)) return true;
  if (lettersOf(a) === lettersOf(b) && lettersOf(a) !== '') {
    const [digits, others] = [digitsOf(a), digitsOf(b)];
    if (isSubsequence(digits, others) || isSubsequence(others, digits)) return true;
  }
  const most = Math.min(a.length, b.length) < SHORT_NAME ? 1 : MAX_TYPOS;
  return typos(a, b, most) <= most;
}

export function areDomainsAlike(a: string, b: string): boolean {
  return a !== b && typos(a, b, MAX_TYPOS) <= MAX_TYPOS;
}

export function areAlike(a: string, b: string): boolean {
  if (a === b) return false;
  if (domainOf(a) !== domainOf(b)) return localOf(a) === localOf(b);
  return areLocalPartsSimilar(localOf(a), localOf(b));
}

function isNearMiss(address: string, { kind, address: wanted, domain }: WantedAddress): boolean {
  if (kind === 'sink') return false;
  return kind === 'catch-all' ? areDomainsAlike(domainOf(address), domain) : areAlike(address, wanted);
}

const [QUOTE, PLUS, OPENING, AT, BACKSLASH, SMALL_A, TILDE] = [34, 43, 60, 64, 92, 97, 126] as const;
const CASE = 32;

function countBits(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count++;
  return count;
}

/**
 * Calls `test` with the letters of each local part in a line, without its tag, as a bit set of a to z. Compares
 * characters of the JSON text, because parsing thousands of lines would take milliseconds.
 * @returns true if a call did, or if a local part has quotes or is not ASCII, so that only a parser can read it
 */
function someLetters(lines: string, from: number, to: number, test: (letters: number) => boolean): boolean {
  let [isInString, isInLocal, bits] = [false, false, 0];
  for (let i = from; i < to; i++) {
    const code = lines.charCodeAt(i);
    if (code === QUOTE && !isInString) {
      [isInString, isInLocal, bits] = [true, true, 0];
    } else if (code === QUOTE || (isInLocal && (code === AT || code === PLUS))) {
      if (isInLocal && test(bits)) return true;
      isInLocal = false;
      if (code === QUOTE) isInString = false;
    } else if (isInLocal) {
      if (code === BACKSLASH || code === OPENING || code > TILDE) return true;
      const letter = (code | CASE) - SMALL_A;
      if (letter >= 0 && letter < 26) bits |= 1 << letter;
    } else if (code === BACKSLASH) return true;
  }
  return false;
}

const lettersOfAddress = (address: string): number => {
  let all = 0;
  const keep = (letters: number): boolean => {
    all = letters;
    return false;
  };
  someLetters(JSON.stringify(address), 0, address.length + 2, keep);
  return all;
};

/** A recipient of a mail. `address` is undefined if it is not similar to the wanted address. */
export interface Found {
  /** Epoch milliseconds. */
  at: number;
  path: string;
  address: string | undefined;
}

/**
 * @param lines one line per mail: epoch milliseconds, a space, and its recipient or the array of them as JSON
 * @param maxOthers number of other recipients that are returned
 */
export function findSimilar(lines: string, wanted: WantedAddress, maxOthers: number): Found[] {
  const own = lettersOfAddress(wanted.address);
  // Each typing error changes at most two letters; a tagged name has all letters of the name.
  const mayBe = (letters: number): boolean =>
    wanted.kind === 'catch-all' ||
    (letters & own) === letters ||
    (letters & own) === own ||
    countBits(letters ^ own) <= 2 * MAX_TYPOS;
  const found: Found[] = [];
  let others = 0;
  for (let from = 0, end = 0; from < lines.length; from = end + 1) {
    end = lines.indexOf('\n', from);
    if (end === -1) end = lines.length;
    const space = lines.indexOf(' ', from);
    if (others >= maxOthers && !someLetters(lines, space, end, mayBe)) continue;
    const at = Number(lines.slice(from, space));
    const recipients: string | string[] = JSON.parse(lines.slice(space + 1, end));
    for (const path of [recipients].flat()) {
      const parsed = parseAddress(path, { smtputf8: true });
      const address = parsed && inboxAddress(parsed);
      const isSimilar = address && (address === wanted.address || isNearMiss(address, wanted));
      if (isSimilar || others++ < maxOthers)
        found.push({ at, path, address: isSimilar ? address : undefined });
    }
  }
  return found;
}

export const differenceOf = (a: string, b: string): number => typos(a, b, Math.max(a.length, b.length));
