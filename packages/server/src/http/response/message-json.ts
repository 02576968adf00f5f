import type { Message, MessageSummary } from '@mayfly/client/contract';
import type { FullMessageRecord, MessageRecord, MessageRow } from '../../store/contract/index.ts';
import { toTime } from './time.ts';

/** A message in a list. */
export function toSummary({ id, inboxId, receivedAt, size, summary }: MessageRecord): MessageSummary {
  return {
    id,
    inboxId,
    from: summary.from,
    to: summary.to,
    cc: summary.cc,
    subject: summary.subject,
    preview: summary.preview,
    receivedAt: toTime(receivedAt),
    size,
    attachmentCount: summary.attachmentCount,
    inlineCount: summary.inlineCount ?? 0,
    hasAttachments: summary.attachmentCount > 0,
    codes: summary.codes,
  };
}

/** Each is in the JSON of a summary once: inside a string its quotes would be escaped. */
const NO_ATTACHMENTS = '"attachmentCount":0';
/** Missing in messages that were stored before it was counted, as are `sender` and `parameters` of attachments. */
const INLINE_COUNT = '"inlineCount":';

/** JSON text of what {@link toSummary} makes, around the stored text of the summary. */
export function summaryJson(inboxId: string, message: MessageRow): string {
  const known = madeBefore.get(message);
  if (known !== undefined) return known;
  const { id, receivedAt, size, summary } = message;
  const time = toTime(receivedAt);
  const hasAttachments = !summary.includes(NO_ATTACHMENTS);
  const inlineCount = summary.includes(INLINE_COUNT) ? '' : `${INLINE_COUNT}0,`;
  const json = `{"id":"${id}","inboxId":"${inboxId}",${inlineCount}${summary.slice(1, -1)},"receivedAt":"${time}","size":${size},"hasAttachments":${hasAttachments}}`;
  madeBefore.set(message, json);
  return json;
}

/** The newest messages of an inbox are shown again and again. */
const madeBefore = new WeakMap<MessageRow, string>();

/**
 * A message in full.
 * @param base of the URLs in it
 */
export function toMessage(message: FullMessageRecord, base: string): Message {
  const { content, envelope } = message;
  const url = `${base}/v1/inboxes/${message.inboxId}/messages/${message.id}`;
  return {
    ...toSummary(message),
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
    attachments: content.attachments.map(
      ({ id, filename, contentType, parameters, size, disposition, contentId, sha256 }) => ({
        ...{ id, filename, contentType, parameters: parameters ?? {} },
        ...{ size, disposition, contentId, sha256 },
        url: `${url}/attachments/${encodeURIComponent(id)}`,
      }),
    ),
    links: content.links,
    envelope: {
      mailFrom: envelope.mailFrom,
      rcptTo: message.rcptTo,
      helo: envelope.helo,
      remoteAddress: envelope.remoteAddress,
      tls: envelope.tls,
    },
    authentication: message.authentication,
    rawUrl: `${url}/raw`,
    parseError: message.parseError,
  };
}
