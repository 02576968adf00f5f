import type { Message, MessageSummary } from '@mayfly/client/contract';
import { toTime, toTimeOrNull } from '../http/response/time.ts';
import { contentFields } from '../mail/full-json.ts';
import type { FullMessageRecord, MessageRecord } from './records.ts';

export function toSummary(message: MessageRecord): MessageSummary {
  const { id, inboxId, receivedAt, size, summary, readAt, tags, rcptTo } = message;
  return {
    ...{ id, inboxId, ...summary, receivedAt: toTime(receivedAt), size },
    hasAttachments: summary.attachmentCount > 0,
    readAt: toTimeOrNull(readAt),
    tags,
    ...(message.isToOther && { rcptTo }),
  };
}

const urlOf = ({ inboxId, id }: FullMessageRecord, base: string): string =>
  `${base}/v1/inboxes/${inboxId}/messages/${id}`;

export const attachmentsUrl = (message: FullMessageRecord, base: string): string =>
  `${urlOf(message, base)}/attachments/`;

export function messageHead(message: FullMessageRecord, base: string) {
  const { envelope } = message;
  return {
    ...toSummary(message),
    envelope: { ...envelope, rcptTo: message.rcptTo },
    authentication: message.authentication,
    rawUrl: `${urlOf(message, base)}/raw`,
    parseError: message.parseError,
  };
}

export function toMessage(message: FullMessageRecord, base: string): Message {
  return {
    ...messageHead(message, base),
    ...contentFields(message.content, message.index, attachmentsUrl(message, base)),
  };
}
