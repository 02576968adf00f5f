import { type Mailbox, mailboxOf } from './given.ts';

/** Longest list: 1,000 recipients with long names. */
const MAX_LENGTH = 256 * 1024;

/**
 * Parses a list such as `Ada <ada@example.com>, bob@example.com`, split at commas outside quotes. Invalid
 * addresses are undefined.
 */
export function addressList(text: string): (Mailbox | undefined)[] {
  if (text.length > MAX_LENGTH) return [undefined];
  const parts = [''];
  let isQuoted = false;
  for (const piece of text.split(/(\\.|[",])/s)) {
    if (piece === '"') isQuoted = !isQuoted;
    if (piece === ',' && !isQuoted) parts.push('');
    else parts[parts.length - 1] += piece;
  }
  return parts.filter((part) => part.trim() !== '').map(mailboxOf);
}

/** A mailbox as text for people. */
export const shownMailbox = ({ name, address }: Mailbox): string => (name ? `${name} <${address}>` : address);

/** A mailbox as in a header field, but not encoded. */
export const writtenMailbox = ({ name, address }: Mailbox): string =>
  name
    ? `${/^[\w .-]*$/.test(name) ? name : `"${name.replaceAll(/["\\]/g, '\\$&')}"`} <${address}>`
    : address;
