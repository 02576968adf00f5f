import { cut, MAX_MAILBOX_ADDRESS, MAX_MAILBOX_NAME, MAX_MAILBOXES } from '../limits.ts';
import type { MailAddress } from '../mail.ts';
import { oneLine } from './clean.ts';
import { decodeHeaderText } from './encoded-words.ts';

/** Longest encoded name or address that is read; more than is kept in any encoding. */
const MAX_ENCODED = 16 * 1024;

export interface Token {
  text: string;
  kind: 'atom' | 'quoted' | 'word';
  isApart: boolean;
}

/** A quoted string is the local part of a directly following domain; blanks may surround dots (RFC 5322 section 4.4). */
function takeAddresses(tokens: readonly Token[]): { addresses: string[]; words: Token[] } {
  const addresses: string[] = [];
  const words: Token[] = [];
  let run: Token[] = [];
  let hasAt = false;
  const endRun = () => {
    const written = hasAt ? run.map(({ text }) => text).join('') : '';
    if (/.@./.test(written)) addresses.push(written);
    else for (const token of run) words.push(token);
    run = [];
    hasAt = false;
  };
  for (const token of tokens) {
    const isDomain = hasAt && (/[.@]$/.test(run.at(-1)?.text ?? '') || token.text.startsWith('.'));
    if (token.isApart && !isDomain) endRun();
    run.push(token);
    hasAt ||= token.kind === 'atom' && token.text.includes('@');
  }
  endRun();
  return { addresses, words };
}

function encodedMailbox(text: string): MailAddress {
  const open = text.lastIndexOf('<');
  const address = open < 0 || !text.endsWith('>') ? '' : text.slice(open + 1, -1);
  return /^[^\s@<>]+@[^\s@<>]+$/.test(address)
    ? { address, name: text.slice(0, open).trim() }
    : { address: '', name: text };
}

function nameOf(words: readonly Token[]): string {
  let text = '';
  for (const [index, word] of words.entries()) {
    if (text.length > MAX_ENCODED) break;
    if (index > 0 && word.isApart) text += ' ';
    text += word.kind === 'quoted' ? withoutEscapes(word.text.slice(1, -1)) : word.text;
  }
  return oneLine(decodeHeaderText(text.slice(0, MAX_ENCODED)));
}

const decodeAddress = (address: string): string => oneLine(decodeHeaderText(address.slice(0, MAX_ENCODED)));

function commentText(comments: readonly string[]): string {
  return oneLine(decodeHeaderText(withoutEscapes(comments.join(' ').slice(0, MAX_ENCODED))));
}

const withoutEscapes = (text: string): string => (text.includes('\\') ? text.replace(/\\(.)/gs, '$1') : text);

/*
 * RFC 5322 section 3.4 with obsolete and malformed forms, in linear time. No address is taken from a quoted string,
 * comment or encoded word, except a whole encoded mailbox: a display name must not become an address.
 */

/** Limit of words of one mailbox, and of its comments, because each costs memory. Further ones are skipped. */
const MAX_WORDS = 1_000;

export interface AddressList {
  mailboxes: MailAddress[];
  isCut: boolean;
}

/** @param field an unfolded value, one character per byte */
export function parseAddressList(field: string): AddressList {
  const text = field.trim();
  // A list as programs print it (`[a@b, c@d]`), not an address literal.
  const isPrinted =
    text.startsWith('[') && text.endsWith(']') && text.slice(0, text.indexOf(']')).includes('@');
  return new AddressScan(isPrinted ? text.slice(1, -1) : field).run();
}

const SPACE = 0x20;
/** Encoded words may contain commas and colons by mistake. */
const ENCODED_WORD = /=\?[^?\s]+\?[bq]\?[^?\s]*\?=/iy;
const SOURCE_ROUTE = /^@[^:]*:/;
const IS_SPECIAL = new Uint8Array(256);
for (let code = 0; code <= SPACE; code++) IS_SPECIAL[code] = 1;
for (const special of '"(),:;<>[') IS_SPECIAL[special.charCodeAt(0)] = 1;
const NESTING = /["([]/;
const CLOSING: Readonly<Record<string, string>> = { '"': '"', '(': ')', '[': ']', '<': '>' };

class AddressScan {
  private readonly text: string;
  private at = 0;
  private readonly mailboxes: MailAddress[] = [];
  private tokens: Token[] = [];
  private comments: string[] = [];
  private bracketed: string | undefined;
  private gap: '' | 'blank' | 'comment' = '';
  /** Opening characters without an end, which are treated as plain characters from then on. */
  private readonly unclosed = new Set<string>();

  constructor(text: string) {
    this.text = text;
  }

  run(): AddressList {
    while (this.at < this.text.length && this.mailboxes.length <= MAX_MAILBOXES) this.step();
    this.endMailbox();
    return {
      mailboxes: this.mailboxes.slice(0, MAX_MAILBOXES),
      isCut: this.mailboxes.length > MAX_MAILBOXES,
    };
  }

  private step(): void {
    const character = this.text.charAt(this.at);
    if (character === '"') this.quoted();
    else if (character === '(') this.comment();
    else if (character === '<') this.brackets();
    else if (character === ',' || character === ';') this.separator();
    else if (character === ':') this.groupName();
    else if (character === '>' || character === ')') this.at++;
    else if (this.text.charCodeAt(this.at) <= SPACE) {
      this.at++;
      this.gap = 'blank';
    } else this.atom();
  }

  private separator(): void {
    this.endMailbox();
    this.at++;
  }

  private groupName(): void {
    if (this.bracketed === undefined) this.reset();
    else this.endMailbox();
    this.at++;
  }

  private push(text: string, kind: Token['kind']): void {
    if (this.tokens.length === MAX_WORDS) return;
    const joins = this.gap === '' || (this.gap === 'comment' && /^[.@]/.test(text));
    this.tokens.push({ text, kind, isApart: !joins });
    this.gap = '';
  }

  private quoted(): void {
    const end = this.endOf('"', this.at);
    if (end >= 0) this.push(this.text.slice(this.at, end), 'quoted');
    this.at = Math.max(end, this.at + 1);
  }

  private comment(): void {
    const end = this.endOf('(', this.at);
    if (end >= 0) {
      if (this.comments.length < MAX_WORDS) this.comments.push(this.text.slice(this.at + 1, end - 1));
      if (this.gap === '') this.gap = 'comment';
    }
    this.at = Math.max(end, this.at + 1);
  }

  private atom(): void {
    const { text } = this;
    ENCODED_WORD.lastIndex = this.at;
    const start = this.at;
    if (text.charAt(start) === '=' && ENCODED_WORD.test(text)) {
      this.at = ENCODED_WORD.lastIndex;
      this.push(text.slice(start, this.at), 'word');
      return;
    }
    const literalEnd = text.charAt(start) === '[' ? this.endOf('[', start) : -1;
    this.at = Math.max(literalEnd, start + 1);
    while (this.at < text.length && IS_SPECIAL[text.charCodeAt(this.at)] === 0) this.at++;
    this.push(text.slice(start, this.at), 'atom');
  }

  /** Offset after the closing character, or -1. Strings and comments may contain escapes, and comments may nest. */
  private endOf(opening: string, from: number): number {
    if (this.unclosed.has(opening)) return -1;
    const { text } = this;
    const closing = CLOSING[opening];
    let depth = 0;
    for (let at = from; at < text.length; at++) {
      const character = text.charAt(at);
      if (character === '\\' && opening !== '[') at++;
      else if (character === closing && at > from && --depth === 0) return at + 1;
      else if (character === opening && (opening === '(' || at === from)) depth++;
    }
    this.unclosed.add(opening);
    return -1;
  }

  private brackets(): void {
    if (this.bracketed !== undefined) this.endMailbox();
    const { start, end, next } = this.bracketRange();
    const { address, hasBlank } = this.addressIn(start, end);
    this.at = next;
    // "<John Smith>" is a display name.
    if (hasBlank && !address.includes('@')) {
      this.gap = 'blank';
      this.push(this.text.slice(start, end).trim(), 'atom');
    } else {
      this.bracketed = address.replace(SOURCE_ROUTE, '');
    }
    this.gap = 'blank';
  }

  /** The range within the innermost brackets. Unclosed ones end at their first comma or semicolon. */
  private bracketRange(): { start: number; end: number; next: number } {
    const { text } = this;
    let start = this.at + 1;
    let comma = -1;
    let at = start;
    for (; at < text.length; at++) {
      const character = text.charAt(at);
      if (character === '>') return { start, end: at, next: at + 1 };
      if (character === ';' || (character === '<' && comma >= 0)) break;
      if (character === ',' && comma < 0) comma = at;
      else if (character === '<') start = at + 1;
      else if (NESTING.test(character)) at = Math.max(at, this.endOf(character, at) - 1);
    }
    const end = comma < 0 ? at : comma;
    return { start, end, next: end };
  }

  /** The address in a range, without blanks and comments (RFC 5322 section 4.4). */
  private addressIn(start: number, end: number): { address: string; hasBlank: boolean } {
    const { text } = this;
    let address = '';
    let hasBlank = false;
    let blank = false;
    for (let at = start; at < end; at++) {
      const character = text.charAt(at);
      if (text.charCodeAt(at) <= SPACE) {
        blank = address !== '';
        continue;
      }
      const isOpening = character === '"' || character === '(' || character === '[';
      const behind = isOpening ? Math.min(this.endOf(character, at), end) : -1;
      if (character === '(' && behind >= 0) {
        at = behind - 1;
        continue;
      }
      hasBlank ||= blank;
      address += behind < 0 ? character : text.slice(at, behind);
      if (behind >= 0) at = behind - 1;
    }
    return { address, hasBlank };
  }

  private endMailbox(): void {
    const { tokens, bracketed } = this;
    if (tokens.length === 0 && bracketed === undefined) {
      this.reset();
      return;
    }
    const found = bracketed === undefined ? takeAddresses(tokens) : { addresses: [bracketed], words: tokens };
    const name = nameOf(found.words) || (found.addresses.length > 0 ? commentText(this.comments) : '');
    const [first = '', ...others] = found.addresses.map(decodeAddress);
    const [only] = tokens;
    if (first === '' && tokens.length === 1 && only?.kind === 'atom' && this.comments.length > 0) {
      // A mailbox of old mail, with a local name and a comment: nsb (Nathaniel Borenstein).
      this.add({ address: decodeAddress(only.text), name: commentText(this.comments) });
      this.reset();
      return;
    }
    const isEncoded = first === '' && tokens.length > 0 && tokens.every(({ kind }) => kind === 'word');
    if (isEncoded) this.add(encodedMailbox(name));
    else if (first !== '' || name !== '') this.add({ address: first, name });
    for (const address of others) this.add({ address, name: '' });
    this.reset();
  }

  private add({ address, name }: MailAddress): void {
    this.mailboxes.push({ address: cut(address, MAX_MAILBOX_ADDRESS), name: cut(name, MAX_MAILBOX_NAME) });
  }

  private reset(): void {
    this.tokens = [];
    this.comments = [];
    this.bracketed = undefined;
    this.gap = '';
  }
}
