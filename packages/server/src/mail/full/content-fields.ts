import type { MailContent } from '../mail.ts';
import type { PartIndex } from '../mime/part-index.ts';
import { structureOf } from '../structure.ts';

/**
 * The fields of a message in full that come from its content.
 * @param attachmentsUrl the URL of an attachment without its id
 */
export function contentFields(content: MailContent, index: PartIndex | null, attachmentsUrl: string) {
  return {
    replyTo: content.replyTo,
    bcc: content.bcc,
    sender: content.sender ?? null,
    date: content.date,
    rfcMessageId: content.rfcMessageId,
    inReplyTo: content.inReplyTo,
    references: content.references,
    headers: content.headers,
    html: content.html,
    text: content.text,
    htmlText: content.htmlText,
    attachments: content.attachments.map(
      ({ id, filename, contentType, parameters, size, disposition, contentId, sha256, message }) => ({
        ...{ id, filename, contentType, parameters: parameters ?? {} },
        ...{ size, disposition, contentId, sha256 },
        url: `${attachmentsUrl}${encodeURIComponent(id)}`,
        ...(message && { message }),
      }),
    ),
    links: content.links,
    images: content.images,
    structure: structureOf(index ?? [], content.attachments),
  };
}
