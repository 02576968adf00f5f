import { AppError } from '../errors.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import type { MailContent, MailSummary } from '../mail/mail.ts';
import type { FullMessageRecord } from '../messages/records.ts';
import type { Store } from '../store.ts';
import type { ClaimedDelivery } from './sql/queue.ts';
import { INBOX_ENDED } from './sql/removal.ts';

/** Limit for the HTML and text bodies together, bytes of UTF-8. */
export const MAX_BODY_BYTES = 256 * 1024;
/** Limit for the subject, and for the JSON of each list such as the recipients or links, bytes of UTF-8. */
export const MAX_PART_BYTES = 64 * 1024;

export type PayloadMessage = Pick<
  FullMessageRecord,
  'id' | 'inboxId' | 'receivedAt' | 'size' | 'rcptTo' | 'isToOther'
> & {
  summary: MailSummary;
  content: Pick<MailContent, 'html' | 'text' | 'links' | 'attachments'>;
  isPartial?: boolean;
};

/** The result depends only on the arguments, so that every attempt sends the same bytes. */
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
  const cutter = new Cutter();
  const attachments = content.attachments.map(({ message: _, ...part }) => ({
    ...part,
    url: `${url}/attachments/${encodeURIComponent(part.id)}`,
  }));
  const { id, inboxId, size } = message;
  const { from, preview, attachmentCount, inlineCount, via } = summary;
  const fields = {
    ...{ id, inboxId, receivedAt, size, from, preview, attachmentCount, inlineCount },
    to: cutter.list(summary.to),
    cc: cutter.list(summary.cc),
    subject: cutter.text(summary.subject, MAX_PART_BYTES),
    hasAttachments: attachmentCount > 0,
    codes: cutter.list(summary.codes),
    // Constants instead of the current values, because every attempt must send the same body.
    ...{ readAt: null, tags: [] },
    ...(via && { via }),
    ...(message.isToOther && { rcptTo: cutter.list(message.rcptTo) }),
    ...cutter.bodies(content),
    links: cutter.list(content.links),
    attachments: cutter.list(attachments),
  };
  return { ...fields, truncated: cutter.hasCut || message.isPartial === true, url };
}

class Cutter {
  hasCut = false;

  /** Each body may use half of the limit, plus what the other body does not use. */
  bodies({ text, html }: PayloadMessage['content']): { text: string | null; html: string | null } {
    const limitBeside = (other: string | null): number =>
      Math.max(MAX_BODY_BYTES / 2, MAX_BODY_BYTES - Buffer.byteLength(other ?? ''));
    return {
      html: html === null ? null : this.text(html, limitBeside(text)),
      text: text === null ? null : this.text(text, limitBeside(html)),
    };
  }

  text(text: string, maxBytes: number): string {
    if (Buffer.byteLength(text) <= maxBytes) return text;
    this.hasCut = true;
    const { read } = new TextEncoder().encodeInto(text, new Uint8Array(maxBytes));
    return text.slice(0, read);
  }

  list<T>(items: readonly T[]): T[] {
    let bytes = 0;
    const tooMany = items.findIndex((item) => {
      bytes += Buffer.byteLength(JSON.stringify(item)) + 1;
      return bytes > MAX_PART_BYTES;
    });
    this.hasCut ||= tooMany >= 0;
    return items.slice(0, tooMany < 0 ? items.length : tooMany);
  }
}

export interface EventBodyDeps {
  store: Pick<Store, 'inboxes' | 'messages'>;
  /** Base of URLs in the event, without a trailing slash; empty for relative paths. */
  publicUrl: string;
  domain: string;
}

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
    if (!inbox || inbox.expiresAt <= now) return { gone: INBOX_ENDED };
    const message = await store.messages.find(inboxId, messageId, now);
    if (!message) return { gone: 'The message was deleted.' };
    return { json: JSON.stringify(messageReceived(eventId, inbox, message, publicUrl)) };
  } catch (error) {
    // A retry would fail in the same way and delay the webhook's other deliveries.
    if (error instanceof AppError && error.code === 'storage_damaged') return { gone: error.message };
    throw error;
  }
}
