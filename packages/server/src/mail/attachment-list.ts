import type { MailAttachment } from './mail.ts';
import type { PartIndex } from './mime/part-index.ts';
import { parseMail } from './parse.ts';

/** What a download needs to know of an attachment. */
export type ListedAttachment = Omit<MailAttachment, 'parameters' | 'message'>;

export interface AttachmentList {
  attachments: ListedAttachment[];
  index: PartIndex | null;
}

/** JSON for {@link readAttachmentList}. Runs on a parser worker. */
export function attachmentListJson(raw: Uint8Array): string {
  const { content, index } = parseMail(raw);
  const attachments = content.attachments.map(({ parameters, message, ...listed }) => listed);
  return JSON.stringify({ attachments, index } satisfies AttachmentList);
}

export const readAttachmentList = (json: Uint8Array): AttachmentList =>
  JSON.parse(new TextDecoder().decode(json));
