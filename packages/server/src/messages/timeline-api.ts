import { MessageParams, Timeline } from '@mayfly/client/contract';
import { notFound } from '../errors.ts';
import { callersInbox } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { toTimeOrNull } from '../http/response/time.ts';
import { headersAt } from '../mail/fields.ts';
import { earlierAttempts } from '../waits/earlier-attempts.ts';
import { findMessage } from './find-message.ts';
import type { FullMessageRecord } from './records.ts';
import { timelineOf } from './timeline.ts';

/** Real headers are shorter. */
const MAX_HEADER_READ = 64 * 1024;

export function timelineRoutes(app: App, { deps }: RouteContext): void {
  const { store, clock, refusalsWritten, repliedAt } = deps;

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
      const events = timelineOf(message, { deliveries, attempts, repliedAt: repliedAt(messageId) });
      return { events: events.map((event) => ({ ...event, at: toTimeOrNull(event.at) })) };
    },
  });
}
