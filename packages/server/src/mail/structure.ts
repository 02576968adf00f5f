import type { MailAttachment } from './mail.ts';
import type { PartIndex } from './mime/part-index.ts';

/** One part of the MIME tree. */
export interface StructurePart {
  /** Its place, as in IMAP (RFC 9051 section 6.4.5): `1`, `2.1`; '' for the outermost multipart. */
  part: string;
  /** `type/subtype` in lower case. */
  contentType: string;
  /** Bytes of the body as sent, not decoded. */
  size: number;
  disposition: string | null;
  filename: string | null;
  contentId: string | null;
}

/** All parts of a mail in the order of the source; the part numbers tell what is within what. */
export function structureOf(index: PartIndex, attachments: readonly MailAttachment[]): StructurePart[] {
  /** How many parts of each depth were met within the parts that are open. */
  const counts: number[] = [];
  let listed = 0;
  const isMultipart = index[0]?.role === 'multipart';
  return index.map((part) => {
    counts.length = part.depth + 1;
    counts[part.depth] = (counts[part.depth] ?? 0) + 1;
    const attachment = part.role === 'attachment' ? attachments[listed++] : undefined;
    return {
      part: isMultipart ? counts.slice(1).join('.') : '1',
      contentType: part.type,
      size: part.bodyEnd - part.bodyStart,
      disposition: (attachment?.disposition ?? part.disposition) || null,
      filename: (attachment?.filename ?? part.filename) || null,
      contentId: (attachment?.contentId ?? part.contentId) || null,
    };
  });
}
