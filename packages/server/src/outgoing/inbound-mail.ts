import type { InboundMail } from '@mayfly/providers/border';
import { attachmentPart, bodyBytes } from '../mail/mime/part-index.ts';
import { parseMail } from '../mail/parse.ts';
import type { ClaimedOutgoing } from './sql.ts';

/** Converts a reply for a provider's inbound webhook. Parses on the main thread, as replies are small. */
export function inboundMail(raw: Uint8Array, { id, createdAt, details }: ClaimedOutgoing): InboundMail {
  const { summary, content, index } = parseMail(raw);
  const source = Buffer.from(raw);
  const { mailFrom = '', to: [rcptTo = ''] = [], text: reply = '' } = details;
  return {
    ...{ id, at: createdAt, raw, mailFrom, rcptTo, reply },
    from: summary.from ?? { name: '', address: mailFrom },
    to: summary.to,
    cc: summary.cc,
    subject: summary.subject,
    text: content.text ?? '',
    html: content.html ?? '',
    messageId: content.rfcMessageId ?? '',
    headers: content.headers,
    attachments: content.attachments.map(({ id: attachment, filename, contentType, contentId }) => {
      const part = attachmentPart(index, attachment);
      return {
        ...{ filename: filename ?? '', contentType, contentId: contentId ?? '' },
        content: part ? bodyBytes(source, part) : new Uint8Array(),
      };
    }),
  };
}
