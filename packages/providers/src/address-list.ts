import { type Mailbox, mailboxOf } from './given.ts';

/** Of a list: 1,000 recipients with long names. */
const MAX_LENGTH = 256 * 1024;

/** `Ada <ada@example.com>, bob@example.com`: what is between commas outside quotes, each undefined if it is no address. */
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

/** As applications show it. */
export const shownMailbox = ({ name, address }: Mailbox): string => (name ? `${name} <${address}>` : address);

/** As a header field has it, but not encoded. */
export const writtenMailbox = ({ name, address }: Mailbox): string =>
  name
    ? `${/^[\w .-]*$/.test(name) ? name : `"${name.replaceAll(/["\\]/g, '\\$&')}"`} <${address}>`
    : address;
