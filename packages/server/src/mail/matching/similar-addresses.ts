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

const [QUOTE, PLUS, OPENING, AT, SMALL_A, TILDE] = [34, 43, 60, 64, 97, 126] as const;
const CASE = 32;

function countBits(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count++;
  return count;
}

/** Letters of the local part without its tag, as a bit set; undefined if quoted, bracketed or not ASCII. */
function letterSetOf(path: string): number | undefined {
  let letters = 0;
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i);
    if (code === AT || code === PLUS) break;
    if (code === QUOTE || code === OPENING || code > TILDE) return undefined;
    const letter = (code | CASE) - SMALL_A;
    if (letter >= 0 && letter < 26) letters |= 1 << letter;
  }
  return letters;
}

/** A recipient of a mail. `address` is undefined if it is not similar to the wanted address. */
export interface Found {
  /** Epoch milliseconds. */
  at: number;
  path: string;
  address: string | undefined;
}

/** @param lines one per mail: epoch milliseconds, a space, and the recipient or a JSON array of recipients */
export function findSimilar(lines: string, wanted: WantedAddress, maxOthers: number): Found[] {
  const own = letterSetOf(wanted.address);
  // Each typing error changes at most two letters. A name with an appended tag has all letters of the name.
  const mayBe = (letters: number | undefined): boolean =>
    wanted.kind === 'catch-all' ||
    own === undefined ||
    letters === undefined ||
    (letters & own) === letters ||
    (letters & own) === own ||
    countBits(letters ^ own) <= 2 * MAX_TYPOS;
  const found: Found[] = [];
  let others = 0;
  for (const line of lines.split('\n')) {
    if (line === '') continue;
    const space = line.indexOf(' ');
    const recipients: string | string[] = JSON.parse(line.slice(space + 1));
    for (const path of [recipients].flat()) {
      const parsed = mayBe(letterSetOf(path)) ? parseAddress(path, { smtputf8: true }) : undefined;
      const address = parsed && inboxAddress(parsed);
      const isSimilar = address && (address === wanted.address || isNearMiss(address, wanted));
      if (isSimilar || others++ < maxOthers)
        found.push({ at: Number(line.slice(0, space)), path, address: isSimilar ? address : undefined });
    }
  }
  return found;
}

export const differenceOf = (a: string, b: string): number => typos(a, b, Math.max(a.length, b.length));
