import type { MailAddress } from '../../mail.ts';
import { oneLine } from '../clean.ts';
import { decodeHeaderText } from '../encoded-words.ts';

/* The words of one mailbox: which of them are addresses, and which its display name. */

/** Encoded characters of a name or an address that are decoded: more than is kept of it in any encoding. */
const MAX_ENCODED = 16 * 1024;

/** A piece of a mailbox outside of angle brackets. */
export interface Token {
  /** As written, a quoted string with its quotes. */
  text: string;
  kind: 'atom' | 'quoted' | 'word';
  /** True when it is a word of its own, not the continuation of the one before. */
  isApart: boolean;
}

/**
 * The addresses that stand among words without brackets, and the words that are left. A quoted string is
 * the local part of what follows at once; blanks may stand beside the dots of a domain (RFC 5322 section 4.4).
 */
export function takeAddresses(tokens: readonly Token[]): { addresses: string[]; words: Token[] } {
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

/** Some senders encode the whole mailbox: its brackets, and nothing else, make it more than a name. */
export function encodedMailbox(text: string): MailAddress {
  const open = text.lastIndexOf('<');
  const address = open < 0 || !text.endsWith('>') ? '' : text.slice(open + 1, -1);
  return /^[^\s@<>]+@[^\s@<>]+$/.test(address)
    ? { address, name: text.slice(0, open).trim() }
    : { address: '', name: text };
}

/** A display name, with blanks where words of their own begin. */
export function nameOf(words: readonly Token[]): string {
  let text = '';
  for (const [index, word] of words.entries()) {
    if (text.length > MAX_ENCODED) break;
    if (index > 0 && word.isApart) text += ' ';
    text += word.kind === 'quoted' ? withoutEscapes(word.text.slice(1, -1)) : word.text;
  }
  return oneLine(decodeHeaderText(text.slice(0, MAX_ENCODED)));
}

export const decodeAddress = (address: string): string =>
  oneLine(decodeHeaderText(address.slice(0, MAX_ENCODED)));

/** Legacy mail has the name in a comment behind the address. */
export function commentText(comments: readonly string[]): string {
  return oneLine(decodeHeaderText(withoutEscapes(comments.join(' ').slice(0, MAX_ENCODED))));
}

const withoutEscapes = (text: string): string => (text.includes('\\') ? text.replace(/\\(.)/gs, '$1') : text);
