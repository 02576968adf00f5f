import type { ServerResponse } from 'node:http';
import {
  AccountEventsQuery,
  EventsHeaders,
  InboxEventsQuery,
  InboxParams,
  MESSAGE_RECEIVED,
  StreamedMessage,
} from '@mayfly/client/contract';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { callersInbox, keyCaller } from '../http/access/guard.ts';
import type { App, HttpDeps, RouteContext } from '../http/context.ts';
import { STREAM_QUIET_MS, STREAM_RETRY_MS, STREAM_STALLED_MS } from '../http/limits.ts';
import { events } from '../http/openapi/responses.ts';
import { toAppError } from '../http/response/problems.ts';
import { routesOf } from '../http/route.ts';
import { type InboxRecord, liveInbox } from '../inboxes/records.ts';
import { accountCursorAt, cursorAt, timeOfSince } from './cursor.ts';
import { type ChangeSource, HELD_PAGE, type HeldDeps, readUntil } from './held.ts';
import { toSummary } from './json.ts';
import { placeAfter } from './list.ts';
import type { MessageRecord } from './records.ts';

const EVENT_STREAM = 'text/event-stream; charset=utf-8';
const HOW =
  'Server-sent events: `event: message.received`, `id` is a cursor, `data` a `StreamedMessage` as JSON. Every message is sent once and in order. After a disconnect, send the last `id` as `Last-Event-ID` to continue without a gap. A comment is sent every 15 seconds. A client that reads nothing for 30 seconds is disconnected and may resume.';

export function eventRoutes(app: App, context: RouteContext): void {
  const { deps } = context;
  const stream = createStreaming(context);
  const route = routesOf(app, 'Messages');

  route('GET /v1/inboxes/:id/events', {
    access: 'inbox:read',
    operationId: 'streamInboxEvents',
    summary: 'Follow an inbox as a stream',
    description: `${HOW} When the inbox ends, the last comment says so, and the stream closes.`,
    params: InboxParams,
    querystring: InboxEventsQuery,
    headers: EventsHeaders,
    response: { 200: events(StreamedMessage, 'A stream of messages that does not end by itself.') },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      const since = request.headers['last-event-id'] || request.query.since;
      const after = since === undefined ? 0 : timeOfSince(inbox.id, since);
      const followable = followInbox(context.heldDeps, inbox, after);
      const ended = await stream(request, reply, followable);
      if (request.method !== 'HEAD') deps.waitLog.addHeld(inbox, 'stream', followable.hadMessages);
      return ended;
    },
  });

  route('GET /v1/events', {
    access: 'account:read',
    operationId: 'streamAccountEvents',
    summary: 'Follow all inboxes of the account as one stream',
    description: `${HOW} Messages are sent in the order in which they were stored.`,
    querystring: AccountEventsQuery,
    headers: EventsHeaders,
    response: { 200: events(StreamedMessage, 'A stream of messages that does not end by itself.') },
    handler: async (request, reply) => {
      const { account } = keyCaller(request);
      const since = request.headers['last-event-id'] || request.query.since;
      const after = await placeAfter(deps.store.messages, account.id, since);
      return stream(request, reply, followAccount(context.heldDeps, account.id, after));
    },
  });
}

function createStreaming({ deps, held, heldDeps, admission }: RouteContext) {
  return async (request: FastifyRequest, reply: FastifyReply, followable: Followable) => {
    reply.header('content-type', EVENT_STREAM);
    // Without this header, nginx would buffer the events.
    reply.header('x-accel-buffering', 'no');
    if (request.method === 'HEAD') return reply.send();
    const { raw } = reply;
    if (request.admitted) reply.headers(admission.headers(request.admitted));
    const following = held.hold(reply, (signal) => {
      raw.writeHead(200, reply.getHeaders() as Record<string, string>);
      reply.hijack();
      return writeEvents(raw, followable, heldDeps, signal);
    });
    const reason = await following.then(
      () => 'The server is stopping. Resume with the header Last-Event-ID.',
      (error) => failureOf(error, reply, deps),
    );
    const why = raw.destroyed ? 'the client disconnected or stopped reading' : reason;
    deps.log.info({ requestId: request.id, why }, 'A stream ended');
    if (!raw.destroyed) raw.end(comment(reason));
    return reply;
  };
}

/** @returns the error text for the client @throws `error` if the response has not begun */
function failureOf(error: unknown, reply: FastifyReply, { log }: Pick<HttpDeps, 'log'>): string {
  if (!reply.sent) throw error;
  const expected = toAppError(error);
  if (!expected) log.error({ requestId: reply.request.id, err: error }, 'A stream failed');
  return expected?.message ?? 'The server failed. Resume with the header Last-Event-ID.';
}

function eventText({ message, cursor }: Followed): string {
  const data: StreamedMessage = { inboxId: message.inboxId, message: toSummary(message) };
  return `event: ${MESSAGE_RECEIVED}\nid: ${cursor}\ndata: ${JSON.stringify(data)}\n\n`;
}

const comment = (text: string): string => `: ${text}\n\n`;

/** Sends every message once, in order. Reads the next page when the client has received the previous page. */
async function writeEvents(raw: ServerResponse, followable: Followable, deps: HeldDeps, signal: AbortSignal) {
  const { clock } = deps;
  let beat = clock.monotonic() + STREAM_QUIET_MS;
  // Clients store an id even without an event, and resume here if they disconnect before the first event.
  raw.write(`retry: ${STREAM_RETRY_MS}\nid: ${followable.cursor}\n\n`);
  const send = async (messages: readonly Followed[]): Promise<boolean> => {
    if (raw.destroyed) return true;
    followable.hadMessages ||= messages.length > 0;
    raw.write(messages.map(eventText).join('') || comment('still here'));
    if (!(await isDrained(raw, clock, signal))) raw.destroy();
    beat = clock.monotonic() + STREAM_QUIET_MS;
    return raw.destroyed;
  };
  await readUntil({ ...deps, source: followable.source, signal }, Number.POSITIVE_INFINITY, async (now) => {
    const { messages, until } = await followable.next(now);
    const isDue = messages.length > 0 || clock.monotonic() >= beat;
    const isFinal = signal.aborted || (isDue && (await send(messages)));
    const nextBeat = clock.now() + beat - clock.monotonic();
    return {
      result: undefined,
      isFinal,
      until: messages.length < HELD_PAGE ? Math.min(nextBeat, until) : now,
    };
  });
}

/** Waits until the client has read what was written. @returns false after a timeout or an abort */
async function isDrained(raw: ServerResponse, clock: Clock, signal: AbortSignal): Promise<boolean> {
  if (!raw.writableNeedDrain) return true;
  const drained = new AbortController();
  raw.once('drain', () => drained.abort());
  await clock.sleep(STREAM_STALLED_MS, AbortSignal.any([drained.signal, signal]));
  return !raw.writableNeedDrain;
}

interface Followed {
  message: MessageRecord;
  cursor: string;
}

interface Followable {
  cursor: string;
  hadMessages: boolean;
  source: ChangeSource;
  /** If the page is not full, call again at `until` (epoch ms) or on a change. @throws if the inbox ended */
  next(now: number): Promise<{ messages: Followed[]; until: number }>;
}

/** @param inbox must be live @param after epoch ms; only messages with a later `receivedAt` are sent */
function followInbox({ store, events }: HeldDeps, inbox: InboxRecord, after: number): Followable {
  const { id, accountId } = inbox;
  let place = after;
  return {
    ...{ cursor: cursorAt(id, after), hadMessages: false },
    source: { accountId, subscribe: (listener) => events.onMessage(id, listener) },
    async next(now) {
      const current = liveInbox(await store.inboxes.find(accountId, id, now), now, id);
      const page = await store.messages.listAfter(current, place, now);
      place = page.at(-1)?.receivedAt ?? place;
      const messages = page.map((message) => ({ message, cursor: cursorAt(id, message.receivedAt) }));
      return { messages, until: current.expiresAt };
    },
  };
}

/** Sends messages in commit order. @param after only messages with a higher `accountOrder` are sent */
function followAccount({ store, events }: HeldDeps, accountId: string, after: number): Followable {
  const cursorOf = (order: number) => accountCursorAt(accountId, order);
  let place = after;
  return {
    ...{ cursor: cursorOf(after), hadMessages: false },
    source: { accountId, subscribe: (listener) => events.onAccountMessage(accountId, listener) },
    async next(now) {
      const page = await store.messages.listByAccount(accountId, { after: place, limit: HELD_PAGE }, now);
      place = page.at(-1)?.accountOrder ?? place;
      const messages = page.map((one) => ({ message: one, cursor: cursorOf(one.accountOrder) }));
      return { messages, until: Number.POSITIVE_INFINITY };
    },
  };
}
