import { ImportedInbox, ImportQuery, InboxParams } from '@mayfly/client/contract';
import { Type } from 'typebox';
import { AppError } from '../errors.ts';
import { callersInbox, keyCaller } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { bytes, created } from '../http/openapi/responses.ts';
import { bodyStream, withStreams } from '../http/request/body.ts';
import { plainAddress } from '../text/source-key.ts';
import { Imports } from './imports-api.ts';

const ZIP = 'application/zip';
/** The media type that generated clients use for bytes. */
const OCTETS = 'application/octet-stream';
const ACCEPTS = [ZIP, 'multipart/form-data', OCTETS];
const TAGS = ['Inboxes'];

const ARCHIVE_BODY = Type.Unsafe({
  description:
    'A zip archive as `GET /v1/inboxes/{id}/export` returns it, or a form with it as its first file.',
});

const emptyArchive = (): AppError =>
  new AppError('malformed_recording', 'The body is empty. Send the zip archive as its bytes.');

export function recordingRoutes(app: App, context: RouteContext): void {
  exportRoute(app, context);
  importRoute(app, context);
}

function exportRoute(app: App, { deps: { store, clock } }: RouteContext): void {
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
      const { recordingArchive } = await import('./export-archive.ts');
      return reply
        .type(ZIP)
        .header('content-disposition', `attachment; filename="${inbox.id}.zip"`)
        .send(recordingArchive(store, inbox, () => clock.now()));
    },
  });
}

function importRoute(app: App, context: RouteContext): void {
  const imports = new Imports(context);
  withStreams(app, ACCEPTS, (scope) =>
    scope.route({
      method: 'POST',
      url: '/v1/inboxes/import',
      config: {
        access: 'account:write',
        accepts: ACCEPTS,
        errors: [
          'address_taken',
          'limit_reached',
          'payload_too_large',
          'message_too_large',
          'malformed_recording',
        ],
      },
      schema: {
        operationId: 'importInbox',
        tags: TAGS,
        summary: 'Create an inbox from a recording',
        description:
          'Creates an inbox with the labels of the recording, and stores its messages in their order: byte for byte, with their envelopes, but with ids and times of their own. They count as received: waits and streams see them, webhooks are sent. Without `speed` the inbox appears with all messages in one step, and what cannot be stored whole creates no inbox, also when the server is stopped or its database fails. With `speed` they arrive in the recorded rhythm; a replay ends when the server stops, and `replay` of the inbox says that it was cut. Senders are not checked: `authentication` is null.',
        querystring: ImportQuery,
        body: { content: Object.fromEntries(ACCEPTS.map((type) => [type, { schema: ARCHIVE_BODY }])) },
        response: { 201: created(ImportedInbox, 'The new inbox.') },
      },
      handler: async (request, reply) => {
        const body = bodyStream(request, ACCEPTS, emptyArchive);
        const caller = keyCaller(request);
        const { headers, query } = request;
        const remoteAddress = plainAddress(request.ip);
        try {
          const inbox = await imports.create({ caller, body, headers, query, remoteAddress });
          reply.code(201).header('location', `/v1/inboxes/${inbox.id}`).header('cache-control', 'no-store');
          return inbox;
        } finally {
          // Reads and drops the rest of a rejected body, so that its sender reads the response.
          body.resume();
        }
      },
    }),
  );
}
