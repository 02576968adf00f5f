import { hash } from 'node:crypto';
import type { api } from '@mayfly/client';
import { type Details, detailsOf, idOf } from '../mailbox.ts';
import { headersIn } from '../source.ts';

// Mailpit's JSON formats, as recorded from release 1.30.5 (test/dialects of the server).

const addressOf = ({ name, address }: api.MailAddress) => ({ Name: name, Address: address });

const peopleOf = (message: api.MessageSummary, { bcc, replyTo }: Details) => ({
  From: addressOf(message.from ?? { name: '', address: '' }),
  To: message.to.map(addressOf),
  Cc: message.cc.map(addressOf),
  Bcc: bcc.map(addressOf),
  ReplyTo: replyTo.map(addressOf),
});

/** Lists that are null when empty, by the place of the row. */
const NULLS = { list: ['To', 'Cc', 'Bcc'], search: ['To', 'Cc', 'Bcc', 'ReplyTo'], event: [] } as const;

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
  const sum = (name: string): string =>
    content === undefined ? '' : hash(name, Buffer.from(content, 'base64'));
  return {
    PartID: id,
    FileName: filename || (contentId ?? ''),
    ContentType: contentType,
    ContentID: contentId ?? '',
    Size: size,
    Checksums: { MD5: sum('md5'), SHA1: sum('sha1'), SHA256: sha256 },
  };
}

/** Our API returns bodies with LF; Mailpit shows the CRLF of the mail. */
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

/** RFC 2369 section 3.2, RFC 8058 */
function unsubscribeOf({ headers }: api.Message) {
  const fieldOf = (field: string): string =>
    headers.find(({ name }) => name.toLowerCase() === field)?.value ?? '';
  const header = fieldOf('list-unsubscribe');
  const links = [...header.matchAll(/<([^<>]+)>/g)].map(([, link = '']) => link.trim());
  return {
    Header: header,
    Links: links,
    Errors: header !== '' && links.length === 0 ? 'no link in angle brackets' : '',
    HeaderPost: header === '' ? '' : fieldOf('list-unsubscribe-post'),
  };
}

/** The number of links that Mailpit checks. */
const MAX_LINKS = 100;

/**
 * The link check. Nothing is fetched, so every URL counts as an error, as in Mailpit without network access:
 * a test must not pass because of a check that was not made.
 */
export function linksOf({ links, images }: api.Message) {
  const urls = [...links.map(({ href }) => href), ...images.map(({ src }) => src)];
  const found = [...new Set(urls.filter((url) => /^https?:/i.test(url)))].slice(0, MAX_LINKS);
  const Status = 'Not checked: Mayfly never opens the links of a mail';
  return { Errors: found.length, Links: found.map((URL) => ({ URL, StatusCode: 0, Status })) };
}

/**
 * Undecoded header fields with names in the canonical form of Go's net/mail, such as `Message-Id`. @param raw
 * the source
 */
export function headersOf(message: api.Message, raw: Buffer): Record<string, string[]> {
  const { bcc } = detailsOf(message);
  return {
    // Mailpit adds these fields when it receives a mail.
    'Return-Path': [`<${message.envelope.mailFrom}>`],
    ...(bcc.length > 0 && { Bcc: [bcc.map(({ address }) => address).join(', ')] }),
    ...headersIn(raw.toString(), (name) =>
      name.toLowerCase().replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()),
    ),
  };
}
