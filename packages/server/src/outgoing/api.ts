import {
  Advance,
  Advanced,
  DEFAULT_LIMIT,
  InboxParams,
  MessageParams,
  Outcomes,
  Reply,
  ref,
  SentList,
  SentQuery,
  SentRecord,
  SetOutcomes,
  ThreadList,
} from '@mayfly/client/contract';
import type { FastifyRequest } from 'fastify';
import { MINUTE_MS } from '../clock.ts';
import { AppError } from '../errors.ts';
import { callersInbox } from '../http/access/guard.ts';
import type { App, HttpDeps, RouteContext } from '../http/context.ts';
import { created, empty, json } from '../http/openapi/responses.ts';
import { readPage } from '../http/request/inputs.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { toTime, toTimeOrNull } from '../http/response/time.ts';
import { type AddRoute, routesOf } from '../http/route.ts';
import { newId } from '../ids.ts';
import { throwEnded } from '../inboxes/records.ts';
import { domainOf } from '../mail/address.ts';
import { findMessage } from '../messages/contents.ts';
import type { FullMessageRecord } from '../messages/records.ts';
import { findSettings } from '../providers/settings.ts';
import { writeReply } from './reply.ts';
import type { NewOutgoing, OutgoingRecord } from './sql.ts';
import { threadsOf } from './threads.ts';

const MAX_REPLY_BYTES = 8 * 1024 * 1024;
const MAX_IN_THREADS = 100;

export function outgoingRoutes(app: App, { deps }: RouteContext): void {
  const route = routesOf(app, 'Outgoing');
  outcomeRoutes(route, deps);
  advanceRoute(route, deps);
  replyRoute(route, deps);
  readingRoutes(route, deps);
}

function outcomeRoutes(route: AddRoute, { store, clock }: HttpDeps): void {
  const url = '/v1/inboxes/:id/outcomes';
  const setRules = async (request: FastifyRequest, rules: Outcomes['rules']): Promise<void> => {
    const inbox = callersInbox(request);
    const now = clock.now();
    const isLive = await store.outgoing.setOutcomes(inbox.accountId, inbox.id, rules, now);
    if (!isLive) await throwEnded(store.inboxes, inbox, now);
  };

  route(`PUT ${url}`, {
    access: 'inbox:write',
    operationId: 'setOutcomes',
    summary: 'Set what becomes of the next messages',
    description:
      'The next messages of the inbox arrive as usual, and then bounce, are reported as spam and so on: for a message that came through a provider its event is posted to the `webhookUrl` of the provider, for one that came by SMTP a delivery status notification (RFC 3464) or a feedback report (RFC 5965) is sent to its return path, if that is an address of this server or the operator allows it. Each rule applies to exactly `times` messages over all servers and restarts. Replaces all rules before.',
    params: InboxParams,
    body: ref(SetOutcomes),
    response: { 200: json(Outcomes, 'The rules.') },
    handler: async (request) => {
      const rules = request.body.rules.map(({ outcome, times = 1 }) => ({ outcome, times, left: times }));
      await setRules(request, rules);
      return { rules };
    },
  });

  route(`GET ${url}`, {
    access: 'inbox:key-read',
    operationId: 'getOutcomes',
    summary: 'Show the outcomes of an inbox',
    description: 'The rules of the inbox, with how often each still applies.',
    params: InboxParams,
    response: { 200: json(Outcomes, 'The rules.') },
    handler: async (request) => {
      const inbox = callersInbox(request);
      const now = clock.now();
      const rules = await store.outgoing.readOutcomes(inbox.accountId, inbox.id, now);
      return rules ? { rules } : throwEnded(store.inboxes, inbox, now);
    },
  });

  route(`DELETE ${url}`, {
    access: 'inbox:write',
    operationId: 'deleteOutcomes',
    summary: 'Remove the outcomes of an inbox',
    description: 'Removes the rules: nothing more becomes of later messages.',
    params: InboxParams,
    response: { 204: empty('The inbox has no outcomes.') },
    handler: (request) => setRules(request, []),
  });
}

function advanceRoute(route: AddRoute, { store, clock, events, scheduleNow }: HttpDeps): void {
  route('POST /v1/inboxes/:id/advance', {
    access: 'inbox:write',
    operationId: 'advanceInbox',
    summary: 'Release what is due within a span of time',
    description:
      'Brings everything that the inbox waits for nearer by this span: messages that an application scheduled at a provider, and attempts to send. What becomes due is released in its order, exactly once. Nothing expires earlier, and the span adds up over requests.',
    params: InboxParams,
    body: ref(Advance),
    response: { 200: json(Advanced, 'How much became due.') },
    handler: async (request) => {
      const inbox = callersInbox(request);
      const now = clock.now();
      const ms = request.body.minutes * MINUTE_MS;
      const scheduled = scheduleNow?.() ?? now;
      const released = await store.outgoing.advance(inbox.accountId, inbox.id, ms, now, scheduled);
      if (released === undefined) return throwEnded(store.inboxes, inbox, now);
      events.publishDeliveries();
      return { released };
    },
  });
}

function replyRoute(route: AddRoute, { store, clock, events }: HttpDeps): void {
  const channelOf = async (message: FullMessageRecord, to: Reply['to']) => {
    if (to === 'smtp') return undefined;
    if (to !== undefined) return to;
    const { via } = message.envelope;
    // The sender of an SMS has no mail address, so the default is a reply through the provider.
    if (isSms(message)) return via;
    const settings = via && (await findSettings(store, message.accountId, via, clock.now()));
    return settings?.inboundUrl ? via : undefined;
  };

  route('POST /v1/inboxes/:id/messages/:messageId/reply', {
    bodyLimit: MAX_REPLY_BYTES,
    access: 'inbox:write',
    errors: ['limit_reached'],
    operationId: 'replyToMessage',
    summary: 'Reply to a message',
    description:
      'Writes a reply from the address of the inbox as a mail program does (`Re:`, In-Reply-To, References, the quoted message) and sends it to the Reply-To or From of the message: to an address of this server directly, to others by SMTP to a server that the operator allows (`MAYFLY_REPLY_SMTP`), or in the inbound format of a provider to its `inboundUrl`. It is retried as webhooks are; `GET …/sent` tells what became of it.',
    params: MessageParams,
    body: ref(Reply),
    response: { 201: created(SentRecord, 'The reply, which is about to be sent.') },
    handler: async (request, response) => {
      const inbox = callersInbox(request);
      const { messageId } = request.params;
      const now = clock.now();
      const message = await findMessage(store, inbox, messageId, now);
      const via = await channelOf(message, request.body.to);
      const row = await composeReply(inbox, message, { reply: request.body, via, now });
      const added = await store.outgoing.add([row], now);
      if (added === 0) await throwEnded(store.inboxes, inbox, now, new AppError('limit_reached', TOO_MANY));
      events.publishDeliveries();
      response.header('location', `/v1/inboxes/${inbox.id}/sent`);
      const pending = { state: 'pending', attempts: 0, error: null, createdAt: now } as const;
      return toSent({ ...row, messageId, ...pending });
    },
  });
}

const isSms = ({ envelope }: FullMessageRecord): boolean => envelope.via === 'twilio';

const TOO_MANY = 'The inbox has as much to send as it may. Wait until it is sent, or delete the inbox.';

async function composeReply(
  inbox: ReturnType<typeof callersInbox>,
  message: FullMessageRecord,
  { reply, via, now }: { reply: Reply; via: SentRecord['via'] | undefined; now: number },
): Promise<NewOutgoing> {
  // A sink or catch-all inbox has many addresses. Reply from the one that the mail was sent to.
  const isOwn = inbox.kind === 'address' && !isSms(message);
  const own = isOwn ? inbox.address : (message.rcptTo[0] ?? inbox.address);
  const written = writeReply(message, reply, own);
  const to = [...written.to, ...written.cc].map(({ address }) => address);
  if (to.length === 0)
    throw new AppError('invalid_request', 'The message has neither a From nor a Reply-To to reply to.');
  const id = newId('out', now);
  const rfcMessageId = `<${id}@${domainOf(own)}>`;
  const { compose } = await import('@mayfly/providers/compose');
  const raw = await compose({
    ...written,
    from: own,
    messageId: rfcMessageId,
    date: new Date(now),
    attachments: reply.attachments?.map(({ filename, contentType, content }, index) => ({
      ...{ filename, contentType, content: decoded(content, index) },
    })),
  });
  const { subject } = written;
  const { accountId, id: inboxId } = inbox;
  const details = { ...(via && { via }), mailFrom: own, to, subject, text: reply.text, rfcMessageId };
  return { id, accountId, inboxId, kind: 'reply', messageId: message.id, details, raw, dueAt: now };
}

const BASE64 = /^[A-Za-z0-9+/\s]*={0,2}\s*$/;

function decoded(content: string, index: number): Buffer {
  if (BASE64.test(content)) return Buffer.from(content, 'base64');
  throw invalidField(`/attachments/${index}/content`, `"attachments[${index}].content" must be base64.`);
}

function toSent({ id, kind, messageId, details, ...row }: OutgoingRecord): SentRecord {
  const { outcome = null, via = null, to = [], subject = '', text = '', rfcMessageId = null } = details;
  return {
    ...{ id, type: kind as SentRecord['type'], messageId: messageId ?? '', outcome, via },
    ...{ to, subject, text, rfcMessageId, state: row.state, attempts: row.attempts, error: row.error },
    ...{ createdAt: toTime(row.createdAt), dueAt: toTimeOrNull(row.dueAt) },
  };
}

function readingRoutes(route: AddRoute, { store, clock }: HttpDeps): void {
  route('GET /v1/inboxes/:id/sent', {
    access: 'inbox:read',
    operationId: 'listSent',
    summary: 'List what an inbox sent back',
    description:
      'Replies, and the events and reports of outcomes, newest first, with what became of them. They are kept for 7 days after they ended.',
    params: InboxParams,
    querystring: SentQuery,
    response: { 200: json(SentList, 'A page.') },
    handler: async (request) => {
      const { limit, before } = readPage(request.query, 'out', 'a sent record');
      const { id } = callersInbox(request);
      const rows = await store.outgoing.list(id, { before, limit: limit + 1 }, clock.now());
      return { sent: rows.slice(0, limit).map(toSent), hasMore: rows.length > limit };
    },
  });

  route('GET /v1/inboxes/:id/threads', {
    access: 'inbox:read',
    operationId: 'listThreads',
    summary: 'List the threads of an inbox',
    description: `The newest ${MAX_IN_THREADS} messages and the newest ${DEFAULT_LIMIT} replies of the inbox, grouped by References and In-Reply-To, then by their subject without prefixes such as \`Re:\`.`,
    params: InboxParams,
    response: { 200: json(ThreadList, 'The threads.') },
    handler: async (request) => {
      const { id } = callersInbox(request);
      const now = clock.now();
      const range = { after: -1, before: Number.MAX_SAFE_INTEGER, limit: MAX_IN_THREADS };
      const rows = await store.messages.listRows(id, range, now);
      const messages: FullMessageRecord[] = [];
      for (const row of rows) {
        const message = await store.messages.find(id, row.id, now);
        if (message) messages.push(message);
      }
      const sent = await store.outgoing.list(id, { before: null, limit: DEFAULT_LIMIT }, now);
      const threads = threadsOf(messages, sent).map(({ subject, entries }) => ({
        subject,
        entries: entries.map((entry) => ({ ...entry, at: toTime(entry.at) })),
      }));
      return { threads };
    },
  });
}
