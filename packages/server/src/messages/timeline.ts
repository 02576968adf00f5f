import type { MailHeader } from '../mail/mail.ts';
import { parseDate } from '../mail/mime/date.ts';
import type { TrailEvent, TrailStep } from '../mail/trail.ts';
import type { Refusal } from '../refusals/sql.ts';
import type { FullMessageRecord } from './records.ts';

export type TimelineEventName =
  | 'date-header'
  | 'received-header'
  | TrailEvent
  | 'earlier-attempt'
  | 'committed'
  | 'replied'
  | 'webhook-attempt';

/** An attempt to deliver the message to a webhook. */
export interface TimelineAttempt {
  webhookId: string;
  deliveryId: string;
  /** From 1. */
  attempt: number;
  status: number | null;
  durationMs: number;
  /** The code of the error. */
  error: string | null;
}

export interface TimelineEvent {
  /** Epoch milliseconds; null if unknown. */
  at: number | null;
  event: TimelineEventName;
  /** Whose clock `at` was read from. */
  clock: 'sender' | 'relay' | 'mayfly';
  sincePreviousMs: number | null;
  detail: string;
  /** Why the time is implausible. */
  note: string | null;
  webhook: TimelineAttempt | null;
}

/** Mails with more hops are regarded as looping (RFC 5321 section 6.3). */
const MAX_HOPS = 100;
/** A header field may be as long as the message. */
const MAX_DETAIL = 300;
/** Headers contain whole seconds, which some programs round. */
const TOLERANCE_MS = 1_000;
/** Possible before the sender has written the mail, because connections are reused. */
const BEFORE_THE_MAIL: ReadonlySet<TrailEvent> = new Set(['connected', 'tls', 'authenticated', 'fault']);

/** A mail is read beside its commit, or after it. */
const BESIDE_THE_COMMIT: ReadonlySet<TrailEvent> = new Set(['parsed', 'sender-checked']);

type Draft = Omit<TimelineEvent, 'sincePreviousMs'>;

const cut = (text: string): string => (text.length > MAX_DETAIL ? `${text.slice(0, MAX_DETAIL - 1)}…` : text);

interface Delivery {
  id: string;
  webhookId: string;
  attempts: readonly {
    at: number;
    status: number | null;
    durationMs: number;
    error: { code: string } | null;
  }[];
}

export interface TimelineFacts {
  deliveries: readonly Delivery[];
  /** Earlier attempts that were rejected or ended early, oldest first. */
  attempts: readonly Refusal[];
  /** When the 250 reply was sent, epoch milliseconds; null if unknown. */
  repliedAt: number | null;
}

/** In the order in which the events must have happened. */
export function timelineOf(
  message: FullMessageRecord,
  { deliveries, attempts, repliedAt }: TimelineFacts,
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
      ...[...replied(repliedAt), ...deliveries.flatMap(attemptEvents)],
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

function replied(at: number | null): Draft[] {
  if (at === null) return [];
  const detail = 'The 250 reply was sent';
  return [{ at, event: 'replied', clock: 'mayfly', detail, note: null, webhook: null }];
}

function earlierAttempt({ at, reply, fault, remoteAddress }: Refusal): Draft {
  const deeds = [
    ...(reply === '' ? [] : [reply]),
    ...(fault?.disconnect ? ['connection closed'] : []),
    ...(fault && fault.delayMs > 0 ? [`delayed by ${fault.delayMs} ms`] : []),
  ];
  const outcome = deeds.length === 0 ? 'the connection ended in the middle of the message' : deeds.join(', ');
  const rule = fault ? ` (fault rule ${fault.rule} at ${fault.at})` : '';
  const detail = cut(`The same sender, from ${remoteAddress}: ${outcome}${rule}`);
  return { at, event: 'earlier-attempt', clock: 'mayfly', detail, note: null, webhook: null };
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
  const isOurs = trail.some(({ event }) => event === 'connected' || event === 'injected');
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
  return {
    at,
    event: 'received-header',
    clock: 'relay',
    detail: cut(`Received: ${hop}`),
    note,
    webhook: null,
  };
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

function stepEvent({ event, at, detail = '' }: TrailStep, message: FullMessageRecord): Draft {
  const text = cut(stepDetail(event, detail, message));
  return { at, event, clock: 'mayfly', detail: text, note: null, webhook: null };
}

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
  const detail = `Stored in one transaction${isSmtp ? ', before the 250 reply' : ''}`;
  return { at: receivedAt, event: 'committed', clock: 'mayfly', detail, note: null, webhook: null };
}

function attemptEvents({ id, webhookId, attempts }: Delivery): Draft[] {
  return attempts.map(({ at, status, durationMs, error }, index) => {
    const attempt = index + 1;
    const outcome = `${status ?? error?.code ?? 'no response'} after ${durationMs} ms`;
    return {
      ...{ at, event: 'webhook-attempt' as const, clock: 'mayfly' as const },
      ...{ detail: `Attempt ${attempt} for ${webhookId}: ${outcome}`, note: null },
      webhook: { webhookId, deliveryId: id, attempt, status, durationMs, error: error?.code ?? null },
    };
  });
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
