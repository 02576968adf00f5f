import { typos } from '../../text/nearest.ts';
import { inboxAddress, parseAddress } from '../address.ts';

/** With more differences it is probably another name. */
const MAX_TYPOS = 2;
const SHORT_NAME = 6;

/** Addresses are in lower case, without a tag. */
export interface WantedAddress {
  /** A catch-all compares only the domain. No mail is intended for the sink. */
  kind: 'address' | 'catch-all' | 'sink';
  address: string;
  domain: string;
}

interface Parts {
  local: string;
  domain: string;
}

function parts(address: string): Parts {
  const at = address.lastIndexOf('@');
  return { local: address.slice(0, at), domain: address.slice(at + 1) };
}

const withoutSeparators = (text: string): string => text.replaceAll(/[._+=-]/g, '');
const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');
const lettersOf = (text: string): string => withoutSeparators(text).replaceAll(/\d/g, '');

function isSubsequence(part: string, whole: string): boolean {
  let at = 0;
  for (const letter of whole) if (letter === part.charAt(at)) at++;
  return at === part.length;
}

/** `name-anything` is treated as a tag with a separator other than a plus. */
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

/** Both in lower case. */
export function areDomainsAlike(a: string, b: string): boolean {
  return a !== b && typos(a, b, MAX_TYPOS) <= MAX_TYPOS;
}

/** Whether one of two addresses may be a mistake for the other. Both in lower case. */
export function areAlike(a: string, b: string): boolean {
  if (a === b) return false;
  const [one, other] = [parts(a), parts(b)];
  if (one.domain !== other.domain) return one.local === other.local;
  return areLocalPartsSimilar(one.local, other.local);
}

function isNearMiss(address: string, { kind, address: wanted, domain }: WantedAddress): boolean {
  if (kind === 'sink') return false;
  return kind === 'catch-all' ? areDomainsAlike(parts(address).domain, domain) : areAlike(address, wanted);
}

const [QUOTE, PLUS, OPENING, AT, BACKSLASH, SMALL_A, TILDE] = [34, 43, 60, 64, 92, 97, 126] as const;
const CASE = 32;
/** Marks a path whose letters are unknown until it is parsed. */
const ODD = -1;

/** A bit set of the letters a to z in a local part, without its tag; {@link ODD} for quotes and non-ASCII. */
function lettersIn(path: string): number {
  let bits = 0;
  for (let i = 0; i < path.length; i++) {
    const code = path.charCodeAt(i);
    if (code === AT || code === PLUS) break;
    if (code === BACKSLASH || code === OPENING || code === QUOTE || code > TILDE) return ODD;
    const letter = (code | CASE) - SMALL_A;
    if (letter >= 0 && letter < 26) bits |= 1 << letter;
  }
  return bits;
}

function countBits(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count++;
  return count;
}

class Recipient {
  readonly at: number;
  readonly path: string;
  readonly letters: number;
  #address: string | null | undefined;

  constructor(at: number, path: string) {
    this.at = at;
    this.path = path;
    this.letters = lettersIn(path);
  }

  /** Lower case, without a tag; null when invalid. Cached, because many waits compare it. */
  get address(): string | null {
    if (this.#address === undefined) {
      const parsed = parseAddress(this.path, { smtputf8: true });
      this.#address = parsed ? inboxAddress(parsed) : null;
    }
    return this.#address;
  }
}

export type RecipientList = readonly Recipient[];

/** @param lines one line per mail: epoch milliseconds, a space, and its recipients as JSON */
export function listRecipients(lines: string): RecipientList {
  const mails = lines === '' ? [] : lines.split('\n').map((line) => `[${line.replace(' ', ',')}]`);
  const parsed: [at: number, recipients: string | string[]][] = JSON.parse(`[${mails.join(',')}]`);
  return parsed.flatMap(([at, recipients]) => [recipients].flat().map((path) => new Recipient(at, path)));
}

/** @property address undefined if it is neither the wanted address nor similar */
export type Found = Pick<Recipient, 'at' | 'path'> & { address: string | undefined };

/** The letter sets rule out most without parsing. @param maxOthers number of other recipients that are returned */
export function findSimilar(recipients: RecipientList, wanted: WantedAddress, maxOthers: number): Found[] {
  const own = lettersIn(wanted.address);
  // Each typing error changes at most two letters; a tagged name has all letters of the name.
  const mayBe = (letters: number): boolean =>
    wanted.kind === 'catch-all' ||
    letters === ODD ||
    (letters & own) === letters ||
    (letters & own) === own ||
    countBits(letters ^ own) <= 2 * MAX_TYPOS;
  const found: Found[] = [];
  let others = 0;
  for (const one of recipients) {
    const address = mayBe(one.letters) ? one.address : null;
    const isSimilar = address !== null && (address === wanted.address || isNearMiss(address, wanted));
    if (isSimilar || others++ < maxOthers)
      found.push({ at: one.at, path: one.path, address: isSimilar ? address : undefined });
  }
  return found;
}

export const differenceOf = (a: string, b: string): number => typos(a, b, Math.max(a.length, b.length));
