import { MessageParams, type TimelineEvent as ShownEvent, Timeline } from '@mayfly/client/contract';
import { notFound } from '../errors.ts';
import { callersInbox } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { toTimeOrNull } from '../http/response/time.ts';
import { routesOf } from '../http/route.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { inboxAddress, parseAddress } from '../mail/address.ts';
import { headersAt } from '../mail/fields.ts';
import type { MailSummary } from '../mail/mail.ts';
import { parseDate } from '../mail/mime/date.ts';
import type { TrailEvent } from '../mail/trail.ts';
import type { OutgoingRecord } from '../outgoing/sql.ts';
import { REFUSAL_KEPT_MS, type Refusal } from '../refusals/sql.ts';
import type { Store } from '../store.ts';
import type { DeliveryRecord } from '../webhooks/sql/log.ts';
import { findMessage } from './contents.ts';
import type { FullMessageRecord, MessageRow } from './records.ts';

const MAX_SENT = 50;
const MAX_HEADER_READ = 64 * 1024;

export function timelineRoutes(
  app: App,
  { deps: { store, clock, refusalsWritten, repliedAt } }: RouteContext,
): void {
  /** Reads the header fields of a large message from its raw source, because they are not stored. */
  async function withHeaders(message: FullMessageRecord): Promise<FullMessageRecord> {
    if (!message.isPartial || message.content.headers.length > 0) return message;
    const { inboxId, id } = message;
    const first = await store.messages.readRaw(inboxId, id, 0, clock.now());
    if (!first) throw notFound('message', id);
    const headers = headersAt(Buffer.from(first.subarray(0, MAX_HEADER_READ)));
    return { ...message, content: { ...message.content, headers } };
  }

  const route = routesOf(app, 'Messages');
  route('GET /v1/inboxes/:id/messages/:messageId/timeline', {
    access: 'inbox:read',
    operationId: 'getTimeline',
    summary: 'Read when what happened to a message',
    description:
      'From the Date header over each Received header and each step of the SMTP session to the commit, the 250 reply and each webhook attempt so far, with the milliseconds between them. Where clocks differ, `note` says so. Attempts are kept for 7 days after a delivery ended.',
    params: MessageParams,
    response: { 200: json(Timeline, 'The events.') },
    handler: async (request) => {
      const inbox = callersInbox(request);
      const { id: inboxId, accountId } = inbox;
      const { messageId } = request.params;
      const now = clock.now();
      const message = await withHeaders(await findMessage(store, inbox, messageId, now));
      const { trail, receivedAt } = message;
      const times = { from: Math.min(trail.at(-1)?.at ?? receivedAt, receivedAt), to: receivedAt };
      const deliveries = await store.deliveries.listOfMessage(
        accountId,
        { inboxId, messageId, ...times },
        now,
      );
      await refusalsWritten();
      const attempts = await earlierAttempts(store, inbox, message, now);
      const sent = await store.outgoing.list(inboxId, { before: null, limit: MAX_SENT, messageId }, now);
      const events = timelineOf(message, { deliveries, attempts, sent, repliedAt: repliedAt(messageId) });
      return { events: events.map((event) => ({ ...event, at: toTimeOrNull(event.at) })) };
    },
  });
}

const MAX_BEFORE = 50;
/** Refusals are looked up for at most this many recipients of a mail to a catch-all inbox. */
const MAX_ADDRESSES = 5;

/** Whether the sender may retry after this refusal. A 5xx reply is final, unless a fault rule sent it. */
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

/** Returns refusals with the MAIL FROM and recipient of `message`, since the previous message with its From. */
async function earlierAttempts(
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
    const concerning = await store.refusals.listConcerning(address, 0, now);
    refusals.push(...concerning.filter((one) => one.address === address));
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

type TimelineEvent = Omit<ShownEvent, 'at'> & { at: number | null };
type Draft = Omit<TimelineEvent, 'sincePreviousMs'>;

/** Mails with more hops are regarded as looping (RFC 5321 section 6.3). */
const MAX_HOPS = 100;
/** Maximum characters of an event's `detail`. A header field may be as long as the message. */
const MAX_DETAIL = 300;
/** Times in headers are whole seconds, and some programs round up, so a difference of 1 s is no error. */
const TOLERANCE_MS = 1_000;
/** Steps that may come before the time in a mail's Date header, because senders reuse connections. */
const BEFORE_THE_MAIL: ReadonlySet<TrailEvent> = new Set(['connected', 'tls', 'authenticated', 'fault']);
/** If the trail of a mail has one of these steps, this server has added a Received line to the mail. */
const OWN_LINE: ReadonlySet<TrailEvent> = new Set(['connected', 'injected', 'provider-call']);
/** Steps of parsing, which runs during the commit or after it. */
const BESIDE_THE_COMMIT: ReadonlySet<TrailEvent> = new Set(['parsed', 'sender-checked']);

const cut = (text: string): string => (text.length > MAX_DETAIL ? `${text.slice(0, MAX_DETAIL - 1)}…` : text);

const ownEvent = (at: number, event: Draft['event'], detail: string): Draft => ({
  ...{ at, event, detail: cut(detail), clock: 'mayfly', note: null, webhook: null },
});

interface Facts {
  deliveries: readonly Pick<DeliveryRecord, 'id' | 'webhookId' | 'attempts'>[];
  attempts: readonly Refusal[];
  sent?: readonly OutgoingRecord[];
  repliedAt: number | null;
}

/** @returns the events in the order in which they must have happened */
export function timelineOf(
  message: FullMessageRecord,
  { deliveries, attempts, sent = [], repliedAt }: Facts,
): TimelineEvent[] {
  const { trail, receivedAt } = message;
  const arrived = trail.find(({ event }) => event === 'end-of-data')?.at ?? receivedAt;
  const headers = headerEvents(message, arrived);
  const written = headers.find(({ at }) => at !== null)?.at ?? 0;
  const firstOfMail = trail.findIndex(({ event, at }) => !BEFORE_THE_MAIL.has(event) || at > written);
  const [reading = [], before = []] = [true, false].map((isReading) =>
    trail
      .filter(({ event }) => BESIDE_THE_COMMIT.has(event) === isReading)
      .map(({ event, at, detail = '' }) => ownEvent(at, event, DETAILS[event]?.(message, detail) ?? detail)),
  );
  const commit = `Stored in one transaction${trail.some(({ event }) => event === 'data') ? ', before the 250 reply' : ''}`;
  const after = [
    ownEvent(receivedAt, 'committed', commit),
    ...reading,
    ...(repliedAt === null ? [] : [ownEvent(repliedAt, 'replied', 'The 250 reply was sent')]),
    ...deliveries.flatMap(attemptEvents),
    ...sent.map(sentBack),
  ];
  const own = [...before, ...after.sort((a, b) => (a.at ?? 0) - (b.at ?? 0))];
  for (const { event, ms } of differences(own)) {
    if (ms === null || ms >= 0) continue;
    event.note = `This time is ${-ms} ms before the one above: the clock of this server was set back, or those of two nodes differ.`;
  }
  const beforeTheMail = own.splice(0, Math.max(0, firstOfMail));
  for (const attempt of attempts.map(earlierAttempt)) {
    const later = own.findIndex(({ at }) => at !== null && at > (attempt.at ?? 0));
    own.splice(Math.max(0, later), 0, attempt);
  }
  return differences([...beforeTheMail, ...headers, ...own]).map(({ event, ms }) => ({
    ...event,
    sincePreviousMs: ms,
  }));
}

/** `ms` is the time since the previous event whose time is known; null if one of the two times is missing. */
function differences(events: readonly Draft[]): { event: Draft; ms: number | null }[] {
  let previous: number | null = null;
  return events.map((event) => {
    const ms = event.at === null || previous === null ? null : event.at - previous;
    previous = event.at ?? previous;
    return { event, ms };
  });
}

function earlierAttempt({ at, reply, fault, remoteAddress }: Refusal): Draft {
  const deeds = [
    ...(reply === '' ? [] : [reply]),
    ...(fault?.disconnect ? ['connection closed'] : []),
    ...(fault && fault.delayMs > 0 ? [`delayed by ${fault.delayMs} ms`] : []),
  ];
  const outcome = deeds.length === 0 ? 'the connection ended in the middle of the message' : deeds.join(', ');
  const rule = fault ? ` (fault rule ${fault.rule} at ${fault.at})` : '';
  return ownEvent(at, 'earlier-attempt', `The same sender, from ${remoteAddress}: ${outcome}${rule}`);
}

function headerEvents({ content, trail }: FullMessageRecord, arrived: number): Draft[] {
  const named = (name: string) => content.headers.filter((header) => header.name.toLowerCase() === name);
  let before: number | null = null;
  const eventOf = (kind: Pick<Draft, 'event' | 'clock'>, text: string, time: string): Draft => {
    const date = parseDate(time);
    const at = date === null ? null : Date.parse(date);
    const note = noteOf(at, before, arrived);
    before = at ?? before;
    return { at, ...kind, detail: cut(text), note, webhook: null };
  };
  const ofSender = { event: 'date-header', clock: 'sender' } as const;
  const ofRelay = { event: 'received-header', clock: 'relay' } as const;
  const [date] = named('date');
  const first: Draft = date
    ? eventOf(ofSender, `Date: ${date.value}`, date.value)
    : { at: null, ...ofSender, detail: 'The message has no Date header.', note: null, webhook: null };
  const isOurs = trail.some(({ event }) => OWN_LINE.has(event));
  const hops = named('received').slice(isOurs ? 1 : 0, MAX_HOPS + 1);
  const received = hops.reverse().map(({ value }) => {
    // The time follows the last semicolon (RFC 5322 section 3.6.7).
    const end = value.lastIndexOf(';');
    const hop = (end < 0 ? value : value.slice(0, end)).replace(/\s+/g, ' ').trim();
    return eventOf(ofRelay, `Received: ${hop}`, value.slice(end + 1));
  });
  return [first, ...received];
}

function noteOf(at: number | null, before: number | null, arrived: number): string | null {
  if (at === null) return 'The time could not be read.';
  if (at > arrived + TOLERANCE_MS) {
    return `This time is ${at - arrived} ms after the message arrived here: the clock that wrote it is ahead.`;
  }
  if (before !== null && at < before - TOLERANCE_MS) {
    return `This time is ${before - at} ms before the one above, which must be older: one of the two clocks is wrong.`;
  }
  return null;
}

const DETAILS: Partial<Record<TrailEvent, (message: FullMessageRecord, detail: string) => string>> = {
  connected: ({ envelope }) => `Connection from ${envelope.remoteAddress}`,
  authenticated: (_, detail) =>
    detail === 'inbox'
      ? 'AUTH: all mail of the session goes to this inbox'
      : 'AUTH: credentials of no inbox, which change nothing',
  'mail-from': ({ envelope }) => `MAIL FROM:<${envelope.mailFrom}>`,
  'rcpt-to': ({ rcptTo }) => `RCPT TO:${rcptTo.map((address) => `<${address}>`).join(', ')}`,
  data: () => 'DATA',
  injected: ({ envelope }) => `Injected by a request from ${envelope.remoteAddress}`,
  'provider-call': ({ envelope }, detail) =>
    `Sent through the interface of ${detail}, by a request from ${envelope.remoteAddress}`,
  imported: () => 'Stored again from a recording, with its recorded envelope',
  'end-of-data': ({ size }) => `All ${size} bytes were received, our Received line included`,
  parsed: ({ parseError }) => parseError ?? 'The message was parsed',
  'sender-checked': ({ authentication }) =>
    authentication
      ? `SPF ${authentication.spf}, DKIM ${authentication.dkim}, DMARC ${authentication.dmarc}`
      : '',
};

function attemptEvents({ id, webhookId, attempts }: Facts['deliveries'][number]): Draft[] {
  return attempts.map(({ at, status, durationMs, error }, index) => {
    const attempt = index + 1;
    const outcome = `${status ?? error?.code ?? 'no response'} after ${durationMs} ms`;
    return {
      ...ownEvent(at, 'webhook-attempt', `Attempt ${attempt} for ${webhookId}: ${outcome}`),
      webhook: { webhookId, deliveryId: id, attempt, status, durationMs, error: error?.code ?? null },
    };
  });
}

function sentBack({ kind, details, createdAt, state, attempts, error }: OutgoingRecord): Draft {
  const { outcome, via, to = [] } = details;
  const what =
    outcome === undefined
      ? 'A reply'
      : `The outcome ${outcome}, as ${kind === 'event' ? 'an event' : 'a report'}`;
  const where = `${via ? ` of ${via}` : ''}${to.length > 0 ? ` to ${to.join(', ')}` : ''}`;
  const became = `${state} after ${attempts} attempt${attempts === 1 ? '' : 's'}${error === null ? '' : `: ${error}`}`;
  return ownEvent(createdAt, 'sent-back', `${what}${where}: ${became}`);
}
