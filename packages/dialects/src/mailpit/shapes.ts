import type { api } from '@mayfly/client';
import { type Details, detailsOf, idOf } from '../mailbox.ts';

/*
 * Mailpit's JSON, by what its API returns: names with capitals, lists and never null, but null for a missing From.
 */

interface Address {
  Name: string;
  Address: string;
}
const addressOf = ({ name, address }: api.MailAddress): Address => ({ Name: name, Address: address });

const peopleOf = (message: api.MessageSummary, { bcc, replyTo }: Details) => ({
  From: message.from && addressOf(message.from),
  To: message.to.map(addressOf),
  Cc: message.cc.map(addressOf),
  Bcc: bcc.map(addressOf),
  ReplyTo: replyTo.map(addressOf),
});

/** A row of a list. */
export function rowOf(message: api.MessageSummary, details: Details) {
  return {
    ID: idOf(message),
    MessageID: details.rfcMessageId,
    Read: message.readAt !== null,
    ...peopleOf(message, details),
    Subject: message.subject,
    Created: message.receivedAt,
    Username: '',
    Tags: [...message.tags].sort(),
    Size: message.size,
    Attachments: message.attachmentCount,
    Snippet: message.preview,
  };
}

const attachmentOf = ({ id, filename, contentType, contentId, size }: api.Attachment) => ({
  PartID: id,
  FileName: filename ?? '',
  ContentType: contentType,
  ContentID: contentId ?? '',
  Size: size,
});

/** A message in full. */
export function messageOf(message: api.Message) {
  const details = detailsOf(message);
  const parts = (disposition: string) =>
    message.attachments.filter((part) => part.disposition === disposition).map(attachmentOf);
  return {
    ID: idOf(message),
    MessageID: details.rfcMessageId,
    ...peopleOf(message, details),
    ReturnPath: message.envelope.mailFrom || (message.from?.address ?? ''),
    Subject: message.subject,
    ListUnsubscribe: unsubscribeOf(message),
    Date: message.date ?? message.receivedAt,
    Tags: [...message.tags].sort(),
    Username: '',
    // Lines end as a program on Unix reads them.
    Text: (message.text ?? message.htmlText ?? '').replaceAll('\r\n', '\n'),
    HTML: message.html ?? '',
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

/** Header fields by name, in the form of Go's net/mail: `Message-Id`. */
export function headersOf({ headers }: api.Message): Record<string, string[]> {
  const fields = new Map<string, string[]>();
  for (const { name, value } of headers) {
    const canonical = name.toLowerCase().replaceAll(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());
    fields.set(canonical, [...(fields.get(canonical) ?? []), value]);
  }
  return Object.fromEntries(fields);
}
