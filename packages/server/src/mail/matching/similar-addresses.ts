import { typos } from '../../text/nearest.ts';
import { domainOf, inboxAddress, parseAddress } from '../address.ts';

const MAX_TYPOS = 2;
const SHORT_NAME = 6;

/** The address that a wait expects mail for, in lower case and without a tag. */
export interface WantedAddress {
  /** For `catch-all`, only domains are compared. `sink` accepts mail to every address, so none is similar. */
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

export const areDomainsAlike = (a: string, b: string): boolean =>
  a !== b && typos(a, b, MAX_TYPOS) <= MAX_TYPOS;

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
/** All 26 letters: for addresses that `lettersAt` cannot read (JSON escapes, brackets, non-ASCII text). */
const ANY_LETTERS = -1;

function countBits(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count++;
  return count;
}

/** The letters of a local part without its tag, as a bit set of a to z. */
function lettersAt(text: string, start: number): number {
  let letters = 0;
  for (let i = start; ; i++) {
    const code = text.charCodeAt(i);
    if (code === AT || code === PLUS || code === QUOTE) return letters;
    if (code === BACKSLASH || code === OPENING || !(code <= TILDE)) return ANY_LETTERS;
    const letter = (code | 32) - SMALL_A;
    if (letter >= 0 && letter < 26) letters |= 1 << letter;
  }
}

/** Recipients of many mails, one line per mail. Only lines with letters similar to the wanted address are parsed. */
export class RecipientLines {
  readonly text: string;
  /** For each local part, the offset in `text` of its line. */
  readonly lines: number[] = [];
  readonly letters: number[] = [];

  /** @param text one line per mail: epoch milliseconds, a space, one recipient or an array of them as JSON */
  constructor(text: string) {
    this.text = text;
    for (let line = 0, end = 0; line < text.length; line = end + 1) {
      end = this.endOf(line);
      let opening = text.indexOf('"', line);
      while (opening >= 0 && opening < end) {
        const closing = text.indexOf('"', opening + 1);
        // An escaped quotation mark does not end the string, so the whole line is left to the JSON parser.
        const isEscaped = closing < 0 || text.charCodeAt(closing - 1) === BACKSLASH;
        this.lines.push(line);
        this.letters.push(isEscaped ? ANY_LETTERS : lettersAt(text, opening + 1));
        opening = isEscaped ? end : text.indexOf('"', closing + 1);
      }
    }
  }

  endOf(line: number): number {
    const end = this.text.indexOf('\n', line);
    return end === -1 ? this.text.length : end;
  }
}

/** Whether local parts may be similar: a typo changes at most 2 bits, a suffix like `-qa` only adds bits. */
const areLettersSimilar = (letters: number, wanted: number): boolean =>
  (letters & wanted) === letters ||
  (letters & wanted) === wanted ||
  countBits(letters ^ wanted) <= 2 * MAX_TYPOS;

/** Addresses that {@link inboxAddressOf} need not parse: the result is the text in lower case, without the tag. */
const PLAIN = /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)*)(?:\+[a-z0-9._+-]*)?(@[a-z0-9.-]+)$/i;

function inboxAddressOf(path: string): string {
  const plain = PLAIN.exec(path);
  if (plain) return `${plain[1]}${plain[2]}`.toLowerCase();
  const parsed = parseAddress(path, { smtputf8: true });
  return parsed ? inboxAddress(parsed) : path.toLowerCase();
}

export interface Found {
  /** Epoch milliseconds. */
  at: number;
  /** In lower case, without a tag (`+…`). */
  address: string;
  /** Also true for the wanted address itself. */
  isSimilar: boolean;
}

/** Finds recipients similar to `wanted`, and the first `maxOthers` other ones. */
export function findSimilar(recipients: RecipientLines, wanted: WantedAddress, maxOthers: number): Found[] {
  const { text, lines, letters } = recipients;
  const own = wanted.kind === 'catch-all' ? ANY_LETTERS : lettersAt(wanted.address, 0);
  const found: Found[] = [];
  let [others, unparsed] = [0, 0];
  for (let n = 0; n < lines.length; n++) {
    const line = lines[n] ?? 0;
    if (line < unparsed || (others >= maxOthers && !areLettersSimilar(letters[n] ?? 0, own))) continue;
    unparsed = recipients.endOf(line);
    const space = text.indexOf(' ', line);
    const at = Number(text.slice(line, space));
    const paths: string | string[] = JSON.parse(text.slice(space + 1, unparsed));
    for (const path of [paths].flat()) {
      const address = inboxAddressOf(path);
      const isSimilar = address === wanted.address || isNearMiss(address, wanted);
      if (isSimilar || others++ < maxOthers) found.push({ at, address, isSimilar });
    }
  }
  return found;
}

export const differenceOf = (a: string, b: string): number => typos(a, b, Math.max(a.length, b.length));
