import {
  type CreatedInbox,
  type CreateInbox,
  ImportedInbox,
  ImportQuery,
  InboxParams,
  type RecordedMessage,
} from '@mayfly/client/contract';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { MINUTE_MS, SECOND_MS } from '../clock.ts';
import { plainAddress } from '../connection-limiter.ts';
import { AppError } from '../errors.ts';
import { callersInbox, keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { bytes, created } from '../http/openapi/responses.ts';
import { bodyStream } from '../http/request/inputs.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { toTime } from '../http/response/time.ts';
import { routesOf } from '../http/route.ts';
import { newId } from '../ids.ts';
import { restore, stage as stageMessage } from '../inbound/injection.ts';
import { createInbox, lifetimeOfNew, withoutSinkLabel } from '../inboxes/new-inbox.ts';
import type { StagedMails } from '../inboxes/records.ts';
import type { OpenRecording } from './upload.ts';

const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024;
/** Limit of concurrent imports and replays, because each keeps a file open. */
const MAX_OPEN_ARCHIVES = 20;
const RETRY_AFTER_SECONDS = 5;

/** Returns the time of each message in a replay, as milliseconds after the first message. */
function delaysOf(messages: readonly RecordedMessage[], speed: number): number[] {
  const times = messages.map(({ receivedAt }) => Date.parse(receivedAt));
  return times.map((time) => Math.max(0, time - (times[0] ?? time)) / speed);
}

/** Returns the length of a replay (ms). @throws AppError `invalid_request` if the inbox would expire first */
function replayMs(delays: readonly number[], speed: number, ttlMinutes: number): number {
  const lastMs = Math.max(0, ...delays);
  if (lastMs < ttlMinutes * MINUTE_MS) return Math.ceil(lastMs);
  const minutes = Math.floor(lastMs / MINUTE_MS) + 1;
  const enough = Math.floor((lastMs * speed) / (ttlMinutes * MINUTE_MS)) + 1;
  throw invalidField(
    'speed',
    `With "speed" ${speed} the last message of this recording comes after ${Math.round(lastMs / SECOND_MS)} s, but the inbox expires after ${ttlMinutes} min. Choose a "ttlMinutes" of at least ${minutes}, or a "speed" of at least ${enough}.`,
  );
}

/** Stores all messages before the inbox is created, so that the inbox never has only some of them. */
async function importAll(
  context: RouteContext,
  request: FastifyRequest,
  body: CreateInbox,
  { recording, read }: OpenRecording,
): Promise<CreatedInbox> {
  const caller = keyCaller(request);
  const { store, clock, plans, events } = context.deps;
  const { id: accountId, plan } = caller.account;
  const begunAt = clock.now();
  const stage = newId('msg', begunAt);
  const place = { accountId, stage, maxMessageBytes: plans.named(plan).maxMessageBytes };
  try {
    const mails: StagedMails['mails'] = [];
    for (const message of recording.messages) {
      const { rcptTo, ...envelope } = message.envelope;
      const stream = read(message);
      const mail = { stream, envelope, remoteAddress: plainAddress(request.ip) };
      const source = await stageMessage(context.deps, mail, place).finally(() => stream.destroy());
      mails.push({ source, rcptTo });
    }
    const created = await createInbox(context, caller, body, { staged: { stage, mails, begunAt } });
    events.publish({ accountId, inboxId: created.id });
    events.publishDeliveries();
    return created;
  } catch (error) {
    // If this fails too, the sweeper deletes the messages later.
    await store.messages.unstage(stage).catch(() => undefined);
    throw error;
  }
}

/** @throws AppError `message_too_large`, `invalid_request` if a replay is too long, and the errors of createInbox */
async function importInbox(
  context: RouteContext,
  request: FastifyRequest<{ Querystring: ImportQuery }>,
  archive: OpenRecording,
): Promise<ImportedInbox> {
  let isReplayed = false;
  try {
    const { speed, ...place } = request.query;
    const { inbox: recorded, messages } = archive.recording;
    const body = { ...place, labels: withoutSinkLabel(recorded.labels) };
    const caller = keyCaller(request);
    const { store, clock, plans, replays, events } = context.deps;
    const { account } = caller;
    const ttlMinutes = lifetimeOfNew(body, plans.named(account.plan), account.plan);
    const recordedMessages = messages.length;
    if (speed === undefined)
      return { ...(await importAll(context, request, body, archive)), recordedMessages, replayEndsAt: null };
    const delays = delaysOf(messages, speed);
    const lastMs = replayMs(delays, speed, ttlMinutes);
    const created = await createInbox(context, caller, body, { replayMs: lastMs });
    const target = { id: created.id, accountId: account.id, address: created.address };
    const steps = messages.map((message, at) => ({
      afterMs: delays[at] ?? 0,
      async deliver() {
        const { rcptTo: recorded, ...envelope } = message.envelope;
        const rcptTo = recorded.length === 0 ? [target.address] : recorded;
        const stream = archive.read(message);
        const mail = { stream, envelope, rcptTo, remoteAddress: plainAddress(request.ip) };
        await restore(context.deps, target, mail).finally(() => stream.destroy());
      },
    }));
    isReplayed = true;
    const over = new AbortController();
    const endIfGone = async () => {
      if (!(await store.inboxes.find(account.id, created.id, clock.now()))) over.abort();
    };
    // If this fails, the replay ends with its next message.
    const unsubscribe = events.onMessage(created.id, () => void endIfGone().catch(() => undefined));
    replays.start(steps, over.signal, async (outcome) => {
      unsubscribe();
      await archive.close();
      await store.inboxes.endReplay(created.id, outcome);
    });
    return { ...created, recordedMessages, replayEndsAt: toTime(clock.now() + lastMs) };
  } finally {
    if (!isReplayed) await archive.close();
  }
}

const ZIP = 'application/zip';
const OCTETS = 'application/octet-stream';
const ACCEPTS = [ZIP, 'multipart/form-data', OCTETS];

const ARCHIVE_BODY = Type.Unsafe({
  description:
    'A zip archive as `GET /v1/inboxes/{id}/export` returns it, or a form with it as its first file.',
});

const emptyArchive = (): AppError =>
  new AppError('malformed_recording', 'The body is empty. Send the zip archive as its bytes.');

export function recordingRoutes(app: App, context: RouteContext): void {
  const { deps } = context;
  const { plans, parsing } = deps;
  const route = routesOf(app, 'Inboxes');
  let open = 0;

  route('GET /v1/inboxes/:id/export', {
    access: 'inbox:read',
    operationId: 'exportInbox',
    summary: 'Export an inbox as a recording',
    description:
      'A zip archive with the raw source of each message, byte for byte, as `messages/00001.eml` and so on in the order in which they arrived, and `inbox.json` with their times and envelopes. Import it as often as you like with `POST /v1/inboxes/import`.',
    params: InboxParams,
    response: { 200: bytes([ZIP, OCTETS], 'The archive.') },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      const { recordingArchive } = await import('./export-archive.ts');
      return reply
        .type(ZIP)
        .header('content-disposition', `attachment; filename="${inbox.id}.zip"`)
        .send(recordingArchive(deps, inbox));
    },
  });

  route('POST /v1/inboxes/import', {
    access: 'account:write',
    accepts: ACCEPTS,
    errors: [
      'address_taken',
      'limit_reached',
      'payload_too_large',
      'message_too_large',
      'malformed_recording',
    ],
    operationId: 'importInbox',
    summary: 'Create an inbox from a recording',
    description:
      'Creates an inbox with the labels of the recording, and stores its messages in their order: byte for byte, with their envelopes, but with ids and times of their own. They count as received: waits and streams see them, webhooks are sent. Without `speed` the inbox appears with all messages in one step, and what cannot be stored whole creates no inbox, also when the server is stopped or its database fails. With `speed` they arrive in the recorded rhythm; a replay ends when the server stops, and `replay` of the inbox says that it was cut. Senders are not checked: `authentication` is null.',
    querystring: ImportQuery,
    body: { content: Object.fromEntries(ACCEPTS.map((type) => [type, { schema: ARCHIVE_BODY }])) },
    response: { 201: created(ImportedInbox, 'The new inbox.') },
    handler: async (request, reply) => {
      const body = bodyStream(request, ACCEPTS, emptyArchive);
      try {
        const { receiveRecording } = await import('./upload.ts');
        if (open >= MAX_OPEN_ARCHIVES)
          throw new AppError(
            'unavailable',
            `${MAX_OPEN_ARCHIVES} recordings are being imported or replayed. Retry in ${RETRY_AFTER_SECONDS} seconds.`,
            { retryAfterSeconds: RETRY_AFTER_SECONDS },
          );
        const { maxMessagesPerInbox: maxMessages } = plans.named(keyCaller(request).account.plan);
        const limits = { maxBytes: MAX_ARCHIVE_BYTES, maxMessages };
        const type = request.headers['content-type'] ?? '';
        open++;
        const archive = await receiveRecording(body, type, limits, parsing, () => open--);
        const inbox = await importInbox(context, request, archive);
        reply.header('location', `/v1/inboxes/${inbox.id}`).header('cache-control', 'no-store');
        return inbox;
      } finally {
        // Discards the rest of a rejected body, so that the client reads the response.
        body.resume();
      }
    },
  });
}
