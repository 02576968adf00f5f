import { cut, MAX_MAILBOX_ADDRESS, MAX_MAILBOX_NAME, MAX_MAILBOXES } from '../limits.ts';
import type { MailAddress } from '../mail.ts';
import { oneLine } from './clean.ts';
import { Enclosures } from './enclosures.ts';
import { decodeHeaderText } from './encoded-words.ts';

/*
 * Parses RFC 5322 section 3.4 with obsolete and malformed forms, in linear time. Text in quoted strings,
 * comments and encoded words never becomes an address. The only exception is an encoded word that contains
 * a whole mailbox.
 */

/** A longer field is cut. The 100 mailboxes that are kept need a tenth of this. */
const MAX_FIELD = 64 * 1024;

const SPACE = 0x20;
const ATOM = /[^\0-\x20"(),:;<>[]*/y;
/** Some senders wrongly put commas and colons into encoded words. */
const ENCODED_WORD = /=\?[^?\s]+\?[bq]\?[^?\s]*\?=/iy;
const SOURCE_ROUTE = /^@[^:]*:/;

interface Token {
  kind: 'atom' | 'quoted' | 'encoded' | 'comment' | 'special';
  text: string;
  /** Whether white space or a comment separates the token from the previous one. */
  isApart: boolean;
}

interface Mailbox {
  words: Token[];
  comments: string[];
  bracketed?: string;
}

export interface AddressList {
  mailboxes: MailAddress[];
  isCut: boolean;
}

/** @param field an unfolded value, one character per byte */
export function parseAddressList(field: string): AddressList {
  const text = field.slice(0, MAX_FIELD).trim();
  // Some programs print a list as `[a@b, c@d]`, which is not an address literal.
  const isPrinted =
    text.startsWith('[') && text.endsWith(']') && text.slice(0, text.indexOf(']')).includes('@');
  const tokens = tokensOf(isPrinted ? text.slice(1, -1) : text);
  const mailboxes: MailAddress[] = [];
  let open: Mailbox = { words: [], comments: [] };
  const end = (): void => {
    mailboxes.push(...mailboxesOf(open));
    open = { words: [], comments: [] };
  };
  for (let at = 0; at < tokens.length && mailboxes.length <= MAX_MAILBOXES; at++) {
    const token = tokens[at] as Token;
    if (token.kind === 'comment') open.comments.push(token.text.slice(1, -1));
    else if (token.kind !== 'special') open.words.push(token);
    else if (token.text === '<') {
      if (open.bracketed !== undefined) end();
      const range = bracketRange(tokens, at + 1);
      const inside = tokens.slice(range.start, range.end).filter(({ kind }) => kind !== 'comment');
      const address = inside.map((one) => one.text).join('');
      const isName = !address.includes('@') && inside.slice(1).some(({ isApart }) => isApart);
      for (const one of [inside[0], tokens[range.next]]) if (one) one.isApart = true;
      // "<John Smith>" is a display name, not an address.
      if (isName) open.words.push(...inside.filter(({ kind }) => kind !== 'special'));
      else open.bracketed = address.replace(SOURCE_ROUTE, '');
      at = range.next - 1;
    } else if (token.text === ':' && open.bracketed === undefined) {
      open = { words: [], comments: [] };
    } else if (',:;'.includes(token.text)) end();
  }
  end();
  const isCut = field.length > MAX_FIELD || mailboxes.length > MAX_MAILBOXES;
  return { mailboxes: mailboxes.slice(0, MAX_MAILBOXES), isCut };
}

function tokensOf(text: string): Token[] {
  const enclosures = new Enclosures(text);
  const tokens: Token[] = [];
  let gap: '' | 'blank' | 'comment' = '';
  const match = (pattern: RegExp, from: number): number => {
    pattern.lastIndex = from;
    return pattern.test(text) ? pattern.lastIndex : -1;
  };
  for (let at = 0; at < text.length; ) {
    if (text.charCodeAt(at) <= SPACE) {
      gap = 'blank';
      at++;
      continue;
    }
    const start = at;
    const character = text.charAt(at);
    const enclosed = enclosures.endOf(at);
    const encoded = character === '=' ? match(ENCODED_WORD, at) : -1;
    let kind: Token['kind'] = 'atom';
    if (encoded > 0) kind = 'encoded';
    else if (character === '"' && enclosed > 0) kind = 'quoted';
    else if (character === '(' && enclosed > 0) kind = 'comment';
    else if ('"(),:;<>'.includes(character)) kind = 'special';
    at = Math.max(encoded, enclosed, at + 1);
    if (kind === 'atom') at = match(ATOM, at);
    const written = text.slice(start, at);
    const isApart = gap === 'blank' || (gap === 'comment' && !/^[.@]/.test(written));
    tokens.push({ kind, text: written, isApart });
    if (kind === 'comment') gap ||= 'comment';
    else if (!'"()<>'.includes(written)) gap = '';
  }
  return tokens;
}

/** The range inside the innermost angle brackets. Without a ">", it ends at the first comma or semicolon. */
function bracketRange(tokens: readonly Token[], from: number): { start: number; end: number; next: number } {
  let start = from;
  let comma = -1;
  let at = from;
  for (; at < tokens.length; at++) {
    const { kind, text } = tokens[at] as Token;
    if (kind !== 'special') continue;
    if (text === '>') return { start, end: at, next: at + 1 };
    if (text === ';' || (text === '<' && comma >= 0)) break;
    if (text === ',' && comma < 0) comma = at;
    else if (text === '<') start = at + 1;
  }
  const end = comma < 0 ? at : comma;
  return { start, end, next: end };
}

function mailboxesOf({ words, comments, bracketed }: Mailbox): MailAddress[] {
  const found = bracketed === undefined ? takeAddresses(words) : { addresses: [bracketed], words };
  const comment = decoded(withoutEscapes(comments.join(' ')));
  const [first = '', ...others] = found.addresses.map(decoded);
  const [only] = words;
  // Old mail has only a local name with a comment: nsb (Nathaniel Borenstein).
  if (first === '' && words.length === 1 && only?.kind === 'atom' && comments.length > 0)
    return [mailbox(decoded(only.text), comment)];
  const name = nameOf(found.words) || (found.addresses.length > 0 ? comment : '');
  if (first === '' && words.length > 0 && words.every(({ kind }) => kind === 'encoded'))
    return [encodedMailbox(name)];
  const named = first === '' && name === '' ? [] : [mailbox(first, name)];
  return [...named, ...others.map((address) => mailbox(address, ''))];
}

const mailbox = (address: string, name: string): MailAddress => ({
  address: cut(address, MAX_MAILBOX_ADDRESS),
  name: cut(name, MAX_MAILBOX_NAME),
});

/** A quoted string directly before `@` is a local part. Blanks may surround a dot (RFC 5322 section 4.4). */
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
  const [, name, address] = /^(.*)<([^\s@<>]+@[^\s@<>]+)>$/s.exec(text) ?? [];
  return address === undefined ? mailbox('', text) : mailbox(address, (name ?? '').trim());
}

function nameOf(words: readonly Token[]): string {
  const written = words.map(({ kind, text, isApart }, index) => {
    const blank = index > 0 && isApart ? ' ' : '';
    return blank + (kind === 'quoted' ? withoutEscapes(text.slice(1, -1)) : text);
  });
  return decoded(written.join(''));
}

const decoded = (text: string): string => oneLine(decodeHeaderText(text));

const withoutEscapes = (text: string): string => (text.includes('\\') ? text.replace(/\\(.)/gs, '$1') : text);
