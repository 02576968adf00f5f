import { hash } from 'node:crypto';
import type { api } from '@mayfly/client';
import { type Details, detailsOf, idOf } from '../mailbox.ts';
import { headersIn } from '../source.ts';

/*
 * Mailpit's JSON, as recorded from its release 1.30.5 (test/dialects of the server).
 */

interface Address {
  Name: string;
  Address: string;
}
const addressOf = ({ name, address }: api.MailAddress): Address => ({ Name: name, Address: address });

const peopleOf = (message: api.MessageSummary, { bcc, replyTo }: Details) => ({
  From: addressOf(message.from ?? { name: '', address: '' }),
  To: message.to.map(addressOf),
  Cc: message.cc.map(addressOf),
  Bcc: bcc.map(addressOf),
  ReplyTo: replyTo.map(addressOf),
});

/** Lists that are null when they are empty, by where a row stands. */
const NULLS = {
  list: ['To', 'Cc', 'Bcc'],
  search: ['To', 'Cc', 'Bcc', 'ReplyTo'],
  event: [],
} as const;

/** A row of a list. */
export function rowOf(message: api.MessageSummary, details: Details, where: keyof typeof NULLS) {
  const people = peopleOf(message, details);
  const absent = NULLS[where].filter((name) => people[name].length === 0).map((name) => [name, null]);
  return {
    ID: idOf(message),
    MessageID: details.rfcMessageId,
    Read: message.readAt !== null,
    ...people,
    ...Object.fromEntries(absent),
    Subject: message.subject,
    Created: message.receivedAt,
    Username: '',
    Tags: sortTags(message.tags),
    Size: message.size,
    Attachments: message.attachmentCount,
    Snippet: details.snippet,
  };
}

export const sortTags = (tags: readonly string[]): string[] =>
  tags.toSorted((one, other) => one.toLowerCase().localeCompare(other.toLowerCase()));

function attachmentOf({ id, filename, contentType, contentId, size, sha256, content }: api.Attachment) {
  const bytes = content === undefined ? undefined : Buffer.from(content, 'base64');
  return {
    PartID: id,
    FileName: filename || (contentId ?? ''),
    ContentType: contentType,
    ContentID: contentId ?? '',
    Size: size,
    Checksums: {
      MD5: bytes ? hash('md5', bytes) : '',
      SHA1: bytes ? hash('sha1', bytes) : '',
      SHA256: sha256,
    },
  };
}

/** Our API gives all lines with LF; a mail has CRLF, which is shown there. */
export const asSent = (body: string): string => body.replaceAll(/\r?\n/g, '\r\n');

/** A message in full. */
export function messageOf(message: api.Message) {
  const details = detailsOf(message);
  const parts = (disposition: string) =>
    message.attachments
      .filter((part) => part.disposition === disposition && (part.filename || part.contentId))
      .map(attachmentOf);
  return {
    ID: idOf(message),
    MessageID: details.rfcMessageId,
    ...peopleOf(message, details),
    ReturnPath: message.envelope.mailFrom || (message.from?.address ?? ''),
    Subject: message.subject,
    ListUnsubscribe: unsubscribeOf(message),
    Date: message.date ?? message.receivedAt,
    Tags: sortTags(message.tags),
    Username: '',
    Text: message.text === null ? (message.htmlText ?? '') : asSent(message.text),
    HTML: asSent(message.html ?? ''),
    Size: message.size,
    Inline: parts('inline'),
    Attachments: parts('attachment'),
  };
}

const headerOf = ({ headers }: api.Message, name: string): string =>
  headers.find((header) => header.name.toLowerCase() === name)?.value ?? '';

/** RFC 2369 section 3.2, RFC 8058 */
function unsubscribeOf(message: api.Message) {
  const header = headerOf(message, 'list-unsubscribe');
  const links = [...header.matchAll(/<([^<>]+)>/g)].map(([, link = '']) => link.trim());
  return {
    Header: header,
    Links: links,
    Errors: header !== '' && links.length === 0 ? 'no link in angle brackets' : '',
    HeaderPost: header === '' ? '' : headerOf(message, 'list-unsubscribe-post'),
  };
}

/** Header fields by name, in the form of Go's net/mail: `Message-Id`, and not decoded. @param raw the source */
export function headersOf(message: api.Message, raw: Buffer): Record<string, string[]> {
  const { bcc } = detailsOf(message);
  return {
    // What that program adds when it receives a mail.
    'Return-Path': [`<${message.envelope.mailFrom}>`],
    ...(bcc.length > 0 && { Bcc: [bcc.map(({ address }) => address).join(', ')] }),
    ...headersIn(raw.toString(), (name) =>
      name.toLowerCase().replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()),
    ),
  };
}
