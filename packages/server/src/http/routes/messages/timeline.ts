import { MessageParams, Timeline } from '@mayfly/client/contract';
import { notFound } from '../../../errors.ts';
import { timelineOf } from '../../../messages/timeline.ts';
import { callersInbox } from '../../access/guard.ts';
import type { App, RouteContext } from '../../context.ts';
import { json } from '../../openapi/responses.ts';
import { toTimeOrNull } from '../../response/time.ts';

export function timelineRoutes(app: App, { deps }: RouteContext): void {
  const { store, clock } = deps;

  app.route({
    method: 'GET',
    url: '/v1/inboxes/:id/messages/:messageId/timeline',
    config: { access: 'inbox:read' },
    schema: {
      operationId: 'getTimeline',
      tags: ['Messages'],
      summary: 'Read when what happened to a message',
      description:
        'From the Date header over each Received header and each step of the SMTP session to the commit and each webhook attempt so far, with the milliseconds between them. Where clocks differ, `note` says so. Attempts are kept for 7 days after a delivery ended.',
      params: MessageParams,
      response: { 200: json(Timeline, 'The events.') },
    },
    handler: async (request) => {
      const { id: inboxId, accountId } = callersInbox(request);
      const { messageId } = request.params;
      const now = clock.now();
      const message = await store.messages.find(inboxId, messageId, now);
      if (!message) throw notFound('message', messageId);
      const { trail, receivedAt } = message;
      const stored = { from: Math.min(trail.at(-1)?.at ?? receivedAt, receivedAt), to: receivedAt };
      const deliveries = await store.deliveries.listOfMessage(
        accountId,
        { inboxId, messageId, ...stored },
        now,
      );
      const events = timelineOf(message, deliveries);
      return { events: events.map((event) => ({ ...event, at: toTimeOrNull(event.at) })) };
    },
  });
}
