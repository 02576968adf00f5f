import { AppError } from '../errors.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import type { MailContent, MailSummary } from '../mail/mail.ts';
import type { FullMessageRecord } from '../messages/records.ts';
import type { Store } from '../store.ts';
import type { ClaimedDelivery } from './sql/queue.ts';

/** Limit of the HTML and the text body together, bytes of UTF-8. */
export const MAX_BODY_BYTES = 256 * 1024;
/** Limit of the subject and of each list (recipients, links, attachments, codes), bytes of UTF-8 JSON. */
export const MAX_PART_BYTES = 64 * 1024;

export type PayloadMessage = Pick<
  FullMessageRecord,
  'id' | 'inboxId' | 'receivedAt' | 'size' | 'rcptTo' | 'isToOther'
> & {
  summary: MailSummary;
  content: Pick<MailContent, 'html' | 'text' | 'links' | 'attachments'>;
  /** Whether `content` lacks a part of the message. */
  isPartial?: boolean;
};

/** Depends on its arguments only, so that every attempt sends the same bytes. */
export function messageReceived(
  eventId: string,
  { id, address, labels }: Pick<InboxRecord, 'id' | 'address' | 'labels'>,
  message: PayloadMessage,
  publicUrl: string,
) {
  const timestamp = new Date(message.receivedAt).toISOString();
  const data = { inbox: { id, address, labels }, message: messageBody(message, timestamp, publicUrl) };
  return { id: eventId, type: 'message.received' as const, timestamp, data };
}

function messageBody(message: PayloadMessage, receivedAt: string, publicUrl: string) {
  const { summary, content } = message;
  const url = `${publicUrl}/v1/inboxes/${message.inboxId}/messages/${message.id}`;
  let truncated = message.isPartial === true;
  const note = <T>(kept: { value: T; cut: boolean }): T => {
    truncated ||= kept.cut;
    return kept.value;
  };
  const bodies = note(cutBodies(content.text, content.html));
  const attachments = content.attachments.map(({ message: _, ...part }) => ({
    ...part,
    url: `${url}/attachments/${encodeURIComponent(part.id)}`,
  }));
  const { id, inboxId, size } = message;
  const { from, preview, attachmentCount, inlineCount, via } = summary;
  const fields = {
    ...{ id, inboxId, receivedAt, size, from, preview, attachmentCount, inlineCount },
    to: note(cutList(summary.to)),
    cc: note(cutList(summary.cc)),
    subject: note(cutText(summary.subject, MAX_PART_BYTES)),
    hasAttachments: attachmentCount > 0,
    codes: note(cutList(summary.codes)),
    // Not their current values: the body must be the same in all attempts.
    ...{ readAt: null, tags: [] },
    ...(via && { via }),
    ...(message.isToOther && { rcptTo: note(cutList(message.rcptTo)) }),
    ...bodies,
    links: note(cutList(content.links)),
    attachments: note(cutList(attachments)),
  };
  // After the other fields, because `note` sets `truncated`.
  return { ...fields, truncated, url };
}

/** Each body may use half of the limit, and what the other one leaves of it. */
function cutBodies(text: string | null, html: string | null) {
  const textBytes = Buffer.byteLength(text ?? '');
  const htmlBytes = Buffer.byteLength(html ?? '');
  const half = MAX_BODY_BYTES / 2;
  const textLimit = Math.max(half, MAX_BODY_BYTES - htmlBytes);
  const htmlLimit = Math.max(half, MAX_BODY_BYTES - textBytes);
  return {
    value: {
      html: html === null ? null : cutText(html, htmlLimit).value,
      text: text === null ? null : cutText(text, textLimit).value,
    },
    cut: textBytes > textLimit || htmlBytes > htmlLimit,
  };
}

/** The longest prefix of whole code points within `maxBytes` of UTF-8. */
function cutText(text: string, maxBytes: number): { value: string; cut: boolean } {
  if (Buffer.byteLength(text) <= maxBytes) return { value: text, cut: false };
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
  return { value: text.slice(0, read), cut: true };
}

function cutList<T>(items: readonly T[]): { value: T[]; cut: boolean } {
  let bytes = 0;
  const tooMany = items.findIndex((item) => {
    bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
    return bytes > MAX_PART_BYTES;
  });
  return tooMany === -1 ? { value: [...items], cut: false } : { value: items.slice(0, tooMany), cut: true };
}

export interface EventBodyDeps {
  store: Pick<Store, 'inboxes' | 'messages'>;
  /** Base of URLs in the event, without a trailing slash; empty for relative paths. */
  publicUrl: string;
  /** The first served domain, for test events. */
  domain: string;
}

/** Its ids do not exist. */
function testEvent(eventId: string, receivedAt: number, { publicUrl, domain }: EventBodyDeps) {
  const address = `test@${domain}`;
  const text = 'This is a test event. Your code is 123456.';
  const inbox = { id: 'inb_test', address, labels: {} };
  const summary = {
    from: { address: `mayfly@${domain}`, name: 'Mayfly' },
    to: [{ address, name: '' }],
    cc: [],
    subject: 'Mayfly test event',
    preview: text,
    attachmentCount: 0,
    inlineCount: 0,
    codes: [{ value: '123456', context: 'Your code is 123456.' }],
  };
  const content = { html: null, text, links: [], attachments: [] };
  const place = { id: 'msg_test', inboxId: inbox.id, receivedAt, size: text.length, rcptTo: [address] };
  const event = messageReceived(eventId, inbox, { ...place, summary, content }, publicUrl);
  return { ...event, test: true as const };
}

/** @returns the JSON to send, or why the delivery is cancelled */
export async function eventBody(
  { eventId, accountId, inboxId, messageId, createdAt }: ClaimedDelivery,
  now: number,
  deps: EventBodyDeps,
): Promise<{ json: string } | { gone: string }> {
  const { store, publicUrl } = deps;
  if (inboxId === null || messageId === null)
    return { json: JSON.stringify(testEvent(eventId, createdAt, deps)) };
  try {
    const inbox = await store.inboxes.find(accountId, inboxId, now);
    if (!inbox || inbox.expiresAt <= now) return { gone: 'The inbox ended.' };
    const message = await store.messages.find(inboxId, messageId, now);
    if (!message) return { gone: 'The message was deleted.' };
    return { json: JSON.stringify(messageReceived(eventId, inbox, message, publicUrl)) };
  } catch (error) {
    // A retry would fail in the same way and delay the webhook's other deliveries.
    if (error instanceof AppError && error.code === 'storage_damaged') return { gone: error.message };
    throw error;
  }
}
