import type { Readable } from 'node:stream';
import { ImportedInbox, ImportQuery, InboxParams, type RecordedMessage } from '@mayfly/client/contract';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { AppError } from '../../../errors.ts';
import type { CaptureTarget } from '../../../inbound/smtp-credentials.ts';
import { callersInbox, keyCaller } from '../../access/guard.ts';
import type { App, RouteContext } from '../../context.ts';
import { bytes, json, problemAnswer } from '../../openapi/responses.ts';
import { type OpenRecording, openRecording } from '../../request/upload/recording-archive.ts';
import { storeUpload, type UploadedFile } from '../../request/upload/uploaded-file.ts';
import { recordingArchive } from '../../response/bytes/recording-archive.ts';
import { toInbox } from '../../response/inbox-json.ts';
import { unsupportedMediaType } from '../../response/problems.ts';
import { toTime } from '../../response/time.ts';
import { createInbox } from './new-inbox.ts';

const ZIP = 'application/zip';
/** What generated clients send and read bytes as. */
const OCTETS = 'application/octet-stream';
const ACCEPTS = [ZIP, 'multipart/form-data', OCTETS];
const TAGS = ['Inboxes'];
/** Archives are stored in a file while they are read; this many bytes of disk an import may take. */
const MAX_ARCHIVE_BYTES = 512 * 1024 * 1024;
/** Imports and replays hold a file each; more at once are refused. */
const MAX_OPEN_ARCHIVES = 20;
const RETRY_AFTER_SECONDS = 5;

const ARCHIVE_BODY = Type.Unsafe({
  description:
    'A zip archive as `GET /v1/inboxes/{id}/export` returns it, or a form with it as its first file.',
});

/** An uploaded archive. */
interface Upload extends Omit<OpenRecording, 'close'> {
  /** Closes and deletes it. */
  close(): Promise<void>;
}

/** When a recorded message is delivered, in milliseconds after the first. */
function delayOf({ receivedAt }: RecordedMessage, first: RecordedMessage | undefined, speed: number): number {
  return Math.max(0, Date.parse(receivedAt) - Date.parse(first?.receivedAt ?? receivedAt)) / speed;
}

export function recordingRoutes(app: App, context: RouteContext): void {
  const { deps } = context;
  const { store, clock, plans, injection, replays } = deps;
  let open = 0;

  const openUpload = async (request: FastifyRequest): Promise<Upload> => {
    if (open >= MAX_OPEN_ARCHIVES) throw tooManyArchives();
    open += 1;
    const plan = plans.named(keyCaller(request).account.plan);
    let file: UploadedFile | undefined;
    const close = async () => {
      open -= 1;
      await file?.remove();
    };
    try {
      file = await storeUpload(streamOf(request), request.headers, MAX_ARCHIVE_BYTES);
      const archive = await openRecording(file.path, plan.maxMessagesPerInbox);
      return {
        ...archive,
        close() {
          archive.close();
          return close();
        },
      };
    } catch (error) {
      await close();
      throw error;
    }
  };

  const restore = (
    inbox: CaptureTarget,
    archive: Upload,
    message: RecordedMessage,
    remoteAddress: string,
  ) => {
    const { rcptTo, ...envelope } = message.envelope;
    const stream = archive.read(message);
    const recipients = rcptTo.length === 0 ? [inbox.address] : rcptTo;
    return injection
      .restore(inbox, { stream, envelope, rcptTo: recipients }, remoteAddress)
      .finally(() => stream.destroy());
  };

  /** Delivers the messages in their rhythm, and closes the archive. @returns when the last one is due */
  const replay = (inbox: CaptureTarget, archive: Upload, remoteAddress: string, speed: number): number => {
    const { messages } = archive.recording;
    const steps = messages.map((message) => ({
      afterMs: delayOf(message, messages[0], speed),
      deliver: () => restore(inbox, archive, message, remoteAddress),
    }));
    replays.start(steps, archive.close);
    return clock.now() + Math.max(0, ...steps.map(({ afterMs }) => afterMs));
  };

  const importInbox = async (
    request: FastifyRequest<{ Querystring: ImportQuery }>,
    archive: Upload,
  ): Promise<{ inbox: ImportedInbox; isReplayed: boolean }> => {
    const caller = keyCaller(request);
    const accountId = caller.account.id;
    const { speed, ...place } = request.query;
    const { inbox: recorded, messages } = archive.recording;
    const created = await createInbox(context, caller, { ...place, labels: recorded.labels }, null);
    const target = { inboxId: created.id, accountId, address: created.address };
    if (speed !== undefined) {
      const endsAt = toTime(replay(target, archive, request.ip, speed));
      const inbox = { ...created, recordedMessages: messages.length, replayEndsAt: endsAt };
      return { inbox, isReplayed: true };
    }
    try {
      for (const message of messages) await restore(target, archive, message, request.ip);
    } catch (error) {
      // All or nothing: a part of a recording would make a test fail for a reason that it cannot see.
      await store.inboxes.delete(accountId, created.id, clock.now());
      throw error;
    }
    const stored = await store.inboxes.find(accountId, created.id, clock.now());
    const now = stored ? toInbox(stored, plans.named(caller.account.plan)) : created;
    const inbox = { ...created, ...now, recordedMessages: messages.length, replayEndsAt: null };
    return { inbox, isReplayed: false };
  };

  app.route({
    method: 'GET',
    url: '/v1/inboxes/:id/export',
    config: { access: 'inbox:read' },
    schema: {
      operationId: 'exportInbox',
      tags: TAGS,
      summary: 'Export an inbox as a recording',
      description:
        'A zip archive with the raw source of each message, byte for byte, as `messages/00001.eml` and so on in the order in which they arrived, and `inbox.json` with their times and envelopes. Import it as often as you like with `POST /v1/inboxes/import`.',
      params: InboxParams,
      response: { 200: bytes([ZIP, OCTETS], 'The archive.') },
    },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      return reply
        .type(ZIP)
        .header('content-disposition', `attachment; filename="${inbox.id}.zip"`)
        .send(recordingArchive(store, inbox, () => clock.now()));
    },
  });

  // A context of its own, so that no other route takes a stream for its body.
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(ACCEPTS, (_request, payload, done) => done(null, payload));
    scope.route({
      method: 'POST',
      url: '/v1/inboxes/import',
      config: { access: 'account:write', accepts: ACCEPTS },
      schema: {
        operationId: 'importInbox',
        tags: TAGS,
        summary: 'Create an inbox from a recording',
        description:
          'Creates an inbox with the labels of the recording, and stores its messages in their order: byte for byte, with their envelopes, but with ids and times of their own. They count as received: waits and streams see them, webhooks are sent. Without `speed` all messages are in the inbox when the response comes, and a recording that cannot be stored whole creates no inbox. With `speed` they arrive in the recorded rhythm; a replay ends when the server stops. Senders are not checked: `authentication` is null.',
        querystring: ImportQuery,
        body: { content: Object.fromEntries(ACCEPTS.map((type) => [type, { schema: ARCHIVE_BODY }])) },
        response: {
          201: json(ImportedInbox, 'The new inbox.', {
            Location: Type.String({ description: 'Path of the inbox.' }),
          }),
          409: problemAnswer('`address_taken`, `limit_reached`.'),
          413: problemAnswer(
            '`payload_too_large`: the archive is larger than 512 MiB. `message_too_large`: a message is larger than the plan allows, its Received line included.',
          ),
          422: problemAnswer('`malformed_recording`: the archive is not a recording, or is damaged.'),
        },
      },
      handler: async (request, reply) => {
        let archive: Upload | undefined;
        let isReplayed = false;
        try {
          archive = await openUpload(request);
          const imported = await importInbox(request, archive);
          isReplayed = imported.isReplayed;
          reply.code(201).header('location', `/v1/inboxes/${imported.inbox.id}`);
          reply.header('cache-control', 'no-store');
          return imported.inbox;
        } catch (error) {
          // The rest of a rejected body is read and dropped, so that its sender gets to the response.
          streamOf(request).resume();
          throw error;
        } finally {
          if (!isReplayed) await archive?.close();
        }
      },
    });
  });
}

const tooManyArchives = (): AppError =>
  new AppError(
    'unavailable',
    `${MAX_OPEN_ARCHIVES} recordings are being imported or replayed. Retry in ${RETRY_AFTER_SECONDS} seconds.`,
    {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    },
  );

/** The bytes of the body. @throws AppError for a request without one */
function streamOf({ body, headers }: FastifyRequest): Readable {
  const stream = body as Readable | undefined;
  if (stream) return stream;
  throw headers['content-type'] === undefined
    ? unsupportedMediaType(undefined, ACCEPTS)
    : new AppError('malformed_recording', 'The body is empty. Send the zip archive as its bytes.');
}
