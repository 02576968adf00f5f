import type { MailAddress } from '@mayfly/client/contract';
import { cut, MAX_MAILBOX_ADDRESS, MAX_MAILBOX_NAME, MAX_MAILBOXES } from '../limits.ts';
import { oneLine } from './clean.ts';
import { Enclosures } from './enclosures.ts';
import { decodeHeaderText } from './encoded-words.ts';

/*
 * Parses address lists (RFC 5322 section 3.4), also malformed ones, in linear time. Text in quoted strings,
 * comments and encoded words never becomes an address, unless an encoded word contains a whole mailbox.
 */

/** Limit in bytes; a longer field is cut. The 100 mailboxes that are stored usually need a tenth of this. */
const MAX_FIELD = 64 * 1024;

const SPACE = 0x20;
const ATOM = /[^\0-\x20"(),:;<>[]*/y;
/** Matched before separators, because some senders put commas and colons into encoded words (invalid). */
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

/** @param field an unfolded value, one character per byte */
export function parseAddressList(field: string) {
  const text = field.slice(0, MAX_FIELD).trim();
  // Some programs print a list as `[a@b, c@d]`, which is not an address literal.
  const isPrinted =
    text.startsWith('[') && text.endsWith(']') && text.slice(0, text.indexOf(']')).includes('@');
  const mailboxes: MailAddress[] = [];
  for (const one of writtenMailboxes(tokensOf(isPrinted ? text.slice(1, -1) : text))) {
    mailboxes.push(...mailboxesOf(one));
    if (mailboxes.length > MAX_MAILBOXES) break;
  }
  const isCut = field.length > MAX_FIELD || mailboxes.length > MAX_MAILBOXES;
  return { mailboxes: mailboxes.slice(0, MAX_MAILBOXES), isCut };
}

function tokensOf(text: string): Token[] {
  const enclosures = new Enclosures(text);
  const tokens: Token[] = [];
  let gap: '' | 'blank' | 'comment' = '';
  for (let at = 0; at < text.length; ) {
    if (text.charCodeAt(at) <= SPACE) {
      gap = 'blank';
      at++;
      continue;
    }
    const { kind, end } = tokenAt(text, at, enclosures);
    const written = text.slice(at, end);
    const isApart = gap === 'blank' || (gap === 'comment' && !/^[.@]/.test(written));
    tokens.push({ kind, text: written, isApart });
    if (kind === 'comment') gap ||= 'comment';
    else if (!'"()<>'.includes(written)) gap = '';
    at = end;
  }
  return tokens;
}

function tokenAt(text: string, at: number, enclosures: Enclosures): { kind: Token['kind']; end: number } {
  const character = text.charAt(at);
  ENCODED_WORD.lastIndex = at;
  if (character === '=' && ENCODED_WORD.test(text)) return { kind: 'encoded', end: ENCODED_WORD.lastIndex };
  const end = enclosures.endOf(at);
  if (character === '"' && end > 0) return { kind: 'quoted', end };
  if (character === '(' && end > 0) return { kind: 'comment', end };
  if ('"(),:;<>'.includes(character)) return { kind: 'special', end: at + 1 };
  ATOM.lastIndex = Math.max(end, at + 1);
  ATOM.test(text);
  return { kind: 'atom', end: ATOM.lastIndex };
}

const emptyMailbox = (): Mailbox => ({ words: [], comments: [] });

function* writtenMailboxes(tokens: readonly Token[]): Generator<Mailbox> {
  let open = emptyMailbox();
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as Token;
    const { kind, text } = token;
    const isGroupName = text === ':' && open.bracketed === undefined;
    if (kind === 'comment') open.comments.push(text.slice(1, -1));
    else if (kind !== 'special') open.words.push(token);
    else if (isGroupName) open = emptyMailbox();
    else if (',:;'.includes(text) || (text === '<' && open.bracketed !== undefined)) {
      yield open;
      open = emptyMailbox();
    }
    if (kind === 'special' && text === '<') at = takeBracketed(open, tokens, at + 1) - 1;
  }
  yield open;
}

/** Reads the text in angle brackets into `open`. @returns the index of the next token */
function takeBracketed(open: Mailbox, tokens: readonly Token[], from: number): number {
  const { start, end, next } = bracketRange(tokens, from);
  const inside = tokens.slice(start, end).filter(({ kind }) => kind !== 'comment');
  const address = inside.map(({ text }) => text).join('');
  const isName = !address.includes('@') && inside.slice(1).some(({ isApart }) => isApart);
  for (const one of [inside[0], tokens[next]]) if (one) one.isApart = true;
  // "<John Smith>" is a display name, not an address.
  if (isName) open.words.push(...inside.filter(({ kind }) => kind !== 'special'));
  else open.bracketed = address.replace(SOURCE_ROUTE, '');
  return next;
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
  // Old mail may have only a local name with a comment, such as `nsb (Nathaniel Borenstein)`.
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
