import { MessageParams, type TimelineEvent as ShownEvent, Timeline } from '@mayfly/client/contract';
import { notFound } from '../errors.ts';
import { callersInbox } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { toTimeOrNull } from '../http/response/time.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { inboxAddress, parseAddress } from '../mail/address.ts';
import { headersAt } from '../mail/fields.ts';
import type { MailHeader, MailSummary } from '../mail/mail.ts';
import { parseDate } from '../mail/mime/date.ts';
import type { TrailEvent, TrailStep } from '../mail/trail.ts';
import type { OutgoingRecord } from '../outgoing/sql.ts';
import { REFUSAL_KEPT_MS, type Refusal } from '../refusals/sql.ts';
import type { Store } from '../store.ts';
import type { DeliveryRecord } from '../webhooks/sql/log.ts';
import { findMessage } from './find-message.ts';
import type { FullMessageRecord, MessageRow } from './records.ts';

/** Outcomes and replies of one message that are read. */
const MAX_SENT = 50;
/** Bytes of the header that are read; real headers are shorter. */
const MAX_HEADER_READ = 64 * 1024;

export function timelineRoutes(
  app: App,
  { deps: { store, clock, refusalsWritten, repliedAt } }: RouteContext,
): void {
  /** Adds the header fields of a large message, which are not stored, from its raw source. */
  async function withHeaders(message: FullMessageRecord): Promise<FullMessageRecord> {
    if (!message.isPartial || message.content.headers.length > 0) return message;
    const { inboxId, id } = message;
    const first = await store.messages.readRaw(inboxId, id, 0, clock.now());
    if (!first) throw notFound('message', id);
    const headers = headersAt(Buffer.from(first.subarray(0, MAX_HEADER_READ)));
    return { ...message, content: { ...message.content, headers } };
  }

  app.route({
    method: 'GET',
    url: '/v1/inboxes/:id/messages/:messageId/timeline',
    config: { access: 'inbox:read' },
    schema: {
      operationId: 'getTimeline',
      tags: ['Messages'],
      summary: 'Read when what happened to a message',
      description:
        'From the Date header over each Received header and each step of the SMTP session to the commit, the 250 reply and each webhook attempt so far, with the milliseconds between them. Where clocks differ, `note` says so. Attempts are kept for 7 days after a delivery ended.',
      params: MessageParams,
      response: { 200: json(Timeline, 'The events.') },
    },
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

/** `at`: epoch milliseconds. */
type TimelineEvent = Omit<ShownEvent, 'at'> & { at: number | null };

/** Mails with more hops are regarded as looping (RFC 5321 section 6.3). */
const MAX_HOPS = 100;
/** A header field may be as long as the message. */
const MAX_DETAIL = 300;
/** Headers contain whole seconds, which some programs round. */
const TOLERANCE_MS = 1_000;
/** Possible before the sender has written the mail, because connections are reused. */
const BEFORE_THE_MAIL: ReadonlySet<TrailEvent> = new Set(['connected', 'tls', 'authenticated', 'fault']);

/** Events after which our Received line was added. */
const OWN_LINE: ReadonlySet<TrailEvent> = new Set(['connected', 'injected', 'provider-call']);

/** Parsing runs during the commit or after it. */
const BESIDE_THE_COMMIT: ReadonlySet<TrailEvent> = new Set(['parsed', 'sender-checked']);

type Draft = Omit<TimelineEvent, 'sincePreviousMs'>;

const ownEvent = (at: number, event: Draft['event'], detail: string): Draft => ({
  ...{ at, event, detail, clock: 'mayfly', note: null, webhook: null },
});

const cut = (text: string): string => (text.length > MAX_DETAIL ? `${text.slice(0, MAX_DETAIL - 1)}…` : text);

interface Facts {
  deliveries: readonly Pick<DeliveryRecord, 'id' | 'webhookId' | 'attempts'>[];
  /** Earlier attempts that were rejected or ended early, oldest first. */
  attempts: readonly Refusal[];
  /** Outcomes and replies that were sent. */
  sent?: readonly OutgoingRecord[];
  /** When the 250 reply was sent, epoch milliseconds; null if unknown. */
  repliedAt: number | null;
}

/** In the order in which the events must have happened. */
export function timelineOf(
  message: FullMessageRecord,
  { deliveries, attempts, sent = [], repliedAt }: Facts,
): TimelineEvent[] {
  const { trail, receivedAt } = message;
  const arrived = trail.find(({ event }) => event === 'end-of-data')?.at ?? receivedAt;
  const headers = headerEvents(message, arrived);
  const written = headers.find(({ at }) => at !== null)?.at ?? 0;
  const firstOfMail = trail.findIndex(({ event, at }) => !BEFORE_THE_MAIL.has(event) || at > written);
  const ofReading = trail.filter(({ event }) => BESIDE_THE_COMMIT.has(event));
  const own = [
    ...trail.filter((step) => !ofReading.includes(step)).map((step) => stepEvent(step, message)),
    ...[
      committed(message),
      ...ofReading.map((step) => stepEvent(step, message)),
      ...(repliedAt === null ? [] : [ownEvent(repliedAt, 'replied', 'The 250 reply was sent')]),
      ...deliveries.flatMap(attemptEvents),
      ...sent.map(sentBack),
    ].sort((a, b) => (a.at ?? 0) - (b.at ?? 0)),
  ];
  noteSetBack(own);
  const before = own.splice(0, Math.max(0, firstOfMail));
  for (const attempt of attempts.map(earlierAttempt)) {
    const later = own.findIndex(({ at }) => at !== null && at > (attempt.at ?? 0));
    own.splice(Math.max(0, later), 0, attempt);
  }
  return withDifferences([...before, ...headers, ...own]);
}

function earlierAttempt({ at, reply, fault, remoteAddress }: Refusal): Draft {
  const deeds = [
    ...(reply === '' ? [] : [reply]),
    ...(fault?.disconnect ? ['connection closed'] : []),
    ...(fault && fault.delayMs > 0 ? [`delayed by ${fault.delayMs} ms`] : []),
  ];
  const outcome = deeds.length === 0 ? 'the connection ended in the middle of the message' : deeds.join(', ');
  const rule = fault ? ` (fault rule ${fault.rule} at ${fault.at})` : '';
  return ownEvent(at, 'earlier-attempt', cut(`The same sender, from ${remoteAddress}: ${outcome}${rule}`));
}

function withDifferences(events: readonly Draft[]): TimelineEvent[] {
  let previous: number | null = null;
  return events.map((event) => {
    const { at } = event;
    const sincePreviousMs = at === null || previous === null ? null : at - previous;
    previous = at ?? previous;
    return { ...event, sincePreviousMs };
  });
}

/** The Date header, and the Received headers of other servers, oldest first. */
function headerEvents({ content, trail }: FullMessageRecord, arrived: number): Draft[] {
  const named = (name: string): MailHeader[] =>
    content.headers.filter((header) => header.name.toLowerCase() === name);
  const date = dateEvent(named('date')[0]?.value, arrived);
  const isOurs = trail.some(({ event }) => OWN_LINE.has(event));
  const hops = named('received')
    .slice(isOurs ? 1 : 0)
    .slice(0, MAX_HOPS)
    .reverse();
  let before = date.at;
  const events = hops.map(({ value }) => {
    const event = hopEvent(value, before, arrived);
    before = event.at ?? before;
    return event;
  });
  return [date, ...events];
}

function dateEvent(value: string | undefined, arrived: number): Draft {
  const base = { event: 'date-header' as const, clock: 'sender' as const, webhook: null };
  if (value === undefined)
    return { ...base, at: null, detail: 'The message has no Date header.', note: null };
  const at = timeOf(value);
  return { ...base, at, detail: cut(`Date: ${value}`), note: noteOf(at, null, arrived) };
}

/** @param before time of the last earlier header that could be read (at first, the Date header); null if there is none */
function hopEvent(value: string, before: number | null, arrived: number): Draft {
  // The time follows the last semicolon (RFC 5322 section 3.6.7).
  const end = value.lastIndexOf(';');
  const at = timeOf(value.slice(end + 1));
  const hop = (end < 0 ? value : value.slice(0, end)).replace(/\s+/g, ' ').trim();
  const note = noteOf(at, before, arrived);
  const detail = cut(`Received: ${hop}`);
  return { at, event: 'received-header', clock: 'relay', detail, note, webhook: null };
}

function timeOf(value: string): number | null {
  const date = parseDate(value);
  return date === null ? null : Date.parse(date);
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

const stepEvent = ({ event, at, detail = '' }: TrailStep, message: FullMessageRecord): Draft =>
  ownEvent(at, event, cut(stepDetail(event, detail, message)));

function stepDetail(event: TrailEvent, detail: string, message: FullMessageRecord): string {
  const { envelope, rcptTo, size, parseError } = message;
  switch (event) {
    case 'connected':
      return `Connection from ${envelope.remoteAddress}`;
    case 'authenticated':
      return detail === 'inbox'
        ? 'AUTH: all mail of the session goes to this inbox'
        : 'AUTH: credentials of no inbox, which change nothing';
    case 'mail-from':
      return `MAIL FROM:<${envelope.mailFrom}>`;
    case 'rcpt-to':
      return `RCPT TO:${rcptTo.map((address) => `<${address}>`).join(', ')}`;
    case 'data':
      return 'DATA';
    case 'injected':
      return `Injected by a request from ${envelope.remoteAddress}`;
    case 'provider-call':
      return `Sent through the interface of ${detail}, by a request from ${envelope.remoteAddress}`;
    case 'imported':
      return 'Stored again from a recording, with its recorded envelope';
    case 'end-of-data':
      return `All ${size} bytes were received, our Received line included`;
    case 'parsed':
      return parseError ?? 'The message was parsed';
    case 'sender-checked':
      return checkDetail(message);
    default:
      return detail;
  }
}

function checkDetail({ authentication }: FullMessageRecord): string {
  if (!authentication) return '';
  const { spf, dkim, dmarc } = authentication;
  return `SPF ${spf}, DKIM ${dkim}, DMARC ${dmarc}`;
}

function committed({ receivedAt, trail }: FullMessageRecord): Draft {
  const isSmtp = trail.some(({ event }) => event === 'data');
  return ownEvent(
    receivedAt,
    'committed',
    `Stored in one transaction${isSmtp ? ', before the 250 reply' : ''}`,
  );
}

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
  return ownEvent(createdAt, 'sent-back', cut(`${what}${where}: ${became}`));
}

/** Notes where the clock of a server was set back. */
function noteSetBack(own: Draft[]): void {
  let before: number | null = null;
  for (const event of own) {
    if (event.at !== null && before !== null && event.at < before) {
      event.note = `This time is ${before - event.at} ms before the one above: the clock of this server was set back, or those of two nodes differ.`;
    }
    before = event.at ?? before;
  }
}
