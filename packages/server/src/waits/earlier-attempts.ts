import type { InboxRecord } from '../inboxes/records.ts';
import { inboxAddress, parseAddress } from '../mail/address.ts';
import type { MailSummary } from '../mail/mail.ts';
import type { FullMessageRecord, MessageRow } from '../messages/records.ts';
import { REFUSAL_KEPT_MS, type Refusal } from '../refusals/sql.ts';
import type { Store } from '../store.ts';

/** Refusals that are read per address: as many as the store keeps. */
const MAX_REFUSALS = 50;
/** How many earlier messages are searched for one of the same sender. */
const MAX_BEFORE = 50;
/** Recipients of one message that are looked up in a catch-all inbox. */
const MAX_ADDRESSES = 5;

/** Whether the sender retries after a refusal: not after a 5xx reply, unless a fault rule sent it. */
const isDeferred = ({ reply, fault }: Refusal): boolean =>
  fault !== undefined || reply === '' || reply.startsWith('4');

function addressesOf({ kind, address, domain }: InboxRecord, { rcptTo }: FullMessageRecord): string[] {
  if (kind !== 'catch-all') return [address];
  const paths = rcptTo.flatMap((path) => {
    const parsed = parseAddress(path, { smtputf8: true });
    return parsed && parsed.domain === domain ? [inboxAddress(parsed)] : [];
  });
  return [...new Set([address, ...paths])].slice(0, MAX_ADDRESSES);
}

/**
 * Deferred attempts to deliver a message, oldest first: refusals with the same sender and recipient that came after
 * the author's previous message. SMTP has no message id, so this is an approximation.
 */
export async function earlierAttempts(
  store: Pick<Store, 'messages' | 'refusals'>,
  inbox: InboxRecord,
  message: FullMessageRecord,
  now: number,
): Promise<Refusal[]> {
  const { receivedAt, trail, envelope, summary } = message;
  const connected = trail.find(({ event }) => event === 'connected')?.at;
  if (connected === undefined) return [];
  const refusals: Refusal[] = [];
  for (const address of addressesOf(inbox, message)) {
    refusals.push(...(await store.refusals.list(address, MAX_REFUSALS, now)));
  }
  const sender = envelope.mailFrom.toLowerCase();
  const own = refusals.filter(
    (refusal) =>
      refusal.at <= receivedAt &&
      refusal.mailFrom.toLowerCase() === sender &&
      isDeferred(refusal) &&
      !(refusal.fault && refusal.at >= connected),
  );
  if (own.length === 0) return [];
  const range = { after: now - REFUSAL_KEPT_MS, before: receivedAt, limit: MAX_BEFORE };
  const before = await store.messages.listRows(inbox.id, range, now);
  const authorOf = (row: MessageRow) => (JSON.parse(row.summary) as MailSummary).from?.address;
  const last = before.find((row) => authorOf(row) === summary.from?.address)?.receivedAt ?? 0;
  return own.filter(({ at }) => at > last).toSorted((a, b) => a.at - b.at);
}
