import { InboxParams, InjectQuery, Message } from '@mayfly/client/contract';
import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { plainAddress } from '../connection-limiter.ts';
import { AppError, type ErrorCode } from '../errors.ts';
import { callersInbox } from '../http/access/guard.ts';
import type { App, HttpDeps, RouteContext } from '../http/context.ts';
import { created, JSON_TYPE } from '../http/openapi/responses.ts';
import { baseUrl, bodyStream } from '../http/request/inputs.ts';
import { invalidField } from '../http/request/invalid-fields.ts';
import { routesOf } from '../http/route.ts';
import { throwEnded } from '../inboxes/records.ts';
import { parseAddress } from '../mail/address.ts';
import { findMessage } from '../messages/contents.ts';
import { quoted } from '../text/nearest.ts';
import { emptyMessage, inject } from './injection.ts';

/** The second type is for generated API clients, which send bytes as `application/octet-stream`. */
const ACCEPTS = ['message/rfc822', 'application/octet-stream'];
const EXAMPLE = `From: Shop <no-reply@shop.example>
To: signup-test@mayfly.test
Subject: Please confirm your address
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=part

--part

Your code is 482913.
--part
Content-Disposition: attachment; filename=terms.txt

The terms.
--part--
`;
/** The schema has no `type`, because validation receives the body as a stream. */
const MESSAGE_BODY = Type.Unsafe({
  description: 'The bytes of the message (RFC 5322), header and body. They are stored as they are.',
  examples: [EXAMPLE],
});

const DELETED =
  'The message was stored, and deleted before it could be returned. Send it again if it is still needed.';
const ERRORS = ['inbox_full', 'message_too_large', 'malformed_message'] satisfies ErrorCode[];

/** Returns an error handler that calls {@link throwEnded} for errors of `code` and rethrows all others. */
const reportEnd =
  ({ store, clock }: HttpDeps, request: FastifyRequest, code: ErrorCode, otherwise?: AppError) =>
  (error: unknown) => {
    if (!(error instanceof AppError) || error.code !== code) throw error;
    return throwEnded(store.inboxes, callersInbox(request), clock.now(), otherwise);
  };

export function injectionRoutes(app: App, { options, deps, held, contents }: RouteContext): void {
  const { store, clock } = deps;

  routesOf(app, 'Messages')('POST /v1/inboxes/:id/messages', {
    access: 'inbox:write',
    accepts: ACCEPTS,
    errors: ERRORS,
    operationId: 'injectMessage',
    summary: 'Inject a message without SMTP',
    description:
      'Stores the body as a message of the inbox, as if it had been received over SMTP: the size limit of the plan and a full inbox apply, waits and streams see it, webhooks are sent, and it has its place in the order of the inbox and the account. The bytes are kept as they are, below a `Received` line of this service that says `with HTTP`. The sender is not checked: `authentication` is null.',
    params: InboxParams,
    querystring: InjectQuery,
    body: { content: Object.fromEntries(ACCEPTS.map((type) => [type, { schema: MESSAGE_BODY }])) },
    response: {
      201: created(Message, 'The message. It is on stable storage, and readable by everyone.'),
    },
    // The check runs before the body is read, and before the 100 response to `Expect: 100-continue`.
    onRequest: async (request) => {
      const inbox = callersInbox(request);
      const declared = Number(request.headers['content-length'] ?? 0);
      await deps.receiver
        .accept(inbox.address, declared, inbox)
        .catch(reportEnd(deps, request, 'unknown_recipient'));
    },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      const { mailFrom = '', rcptTo = inbox.address } = request.query;
      if (mailFrom !== '') assertAddress('mailFrom', mailFrom);
      assertAddress('rcptTo', rcptTo);
      const stream = bodyStream(request, ACCEPTS, emptyMessage);
      const remoteAddress = plainAddress(request.ip);
      const message = { stream, mailFrom, rcptTo, remoteAddress, requestId: request.id };
      const messageId = await inject(deps, inbox, message).catch((error: unknown) => {
        // Discards the rest of a rejected message, so that the client reads the response.
        stream.resume();
        return reportEnd(deps, request, 'unknown_recipient')(error);
      });
      const json = await held
        .hold(reply, async (signal) => {
          const message = await findMessage(store, inbox, messageId, clock.now());
          return contents.json(message, baseUrl(options.publicUrl, request), signal);
        })
        .catch(reportEnd(deps, request, 'not_found', new AppError('not_found', DELETED)));
      reply.header('location', `/v1/inboxes/${inbox.id}/messages/${messageId}`);
      return reply.type(JSON_TYPE).send(json);
    },
  });
}

function assertAddress(name: string, value: string): void {
  if (parseAddress(value, { smtputf8: true })) return;
  throw invalidField(
    name,
    `"${name}" must be an email address without a display name, such as "app@example.org", not ${quoted(value)}.`,
  );
}
