import type { Message, MessageSummary } from '@mayfly/client/contract';
import { toTime, toTimeOrNull } from '../http/response/time.ts';
import { contentFields } from '../mail/full-json.ts';
import type { MessagePage } from './list.ts';
import type { FullMessageRecord, MessageRecord, MessageRow } from './records.ts';

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

/** Never matches inside a string of the JSON, where quotes are escaped. */
const NO_ATTACHMENTS = '"attachmentCount":0';

/** The same JSON as of {@link toSummary}, built without parsing the stored summary. */
function rowJson(row: MessageRow): string {
  const { id, inboxId, receivedAt, size, summary, readAt, tags, otherRcptTo } = row;
  const time = toTime(receivedAt);
  const marks = `"readAt":${JSON.stringify(toTimeOrNull(readAt))},"tags":${tags}${otherRcptTo === null ? '' : `,"rcptTo":${otherRcptTo}`}`;
  const hasAttachments = !summary.includes(NO_ATTACHMENTS);
  return `{"id":"${id}","inboxId":"${inboxId}",${summary.slice(1, -1)},"receivedAt":"${time}","size":${size},"hasAttachments":${hasAttachments},${marks}}`;
}

/** The JSON of rows that several pages show. */
const rowTexts = new WeakMap<MessageRow, string>();

function rowText(row: MessageRow): string {
  const text = rowTexts.get(row) ?? rowJson(row);
  rowTexts.set(row, text);
  return text;
}

export function pageJson({
  messages,
  searchedTo,
  ...fields
}: MessagePage & { before?: string | null }): Buffer {
  const shown = searchedTo === null ? fields : { ...fields, searchedTo: toTime(searchedTo) };
  return Buffer.from(`{"messages":[${messages.map(rowText).join(',')}],${JSON.stringify(shown).slice(1)}`);
}

const urlOf = ({ inboxId, id }: FullMessageRecord, base: string): string =>
  `${base}/v1/inboxes/${inboxId}/messages/${id}`;

/** The URL of an attachment without its id. */
export const attachmentsUrl = (message: FullMessageRecord, base: string): string =>
  `${urlOf(message, base)}/attachments/`;

/** The fields that do not come from the content. @param base of the URLs */
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

/** @param message with its whole content */
export function toMessage(message: FullMessageRecord, base: string): Message {
  return {
    ...messageHead(message, base),
    ...contentFields(message.content, message.index, attachmentsUrl(message, base)),
  };
}
