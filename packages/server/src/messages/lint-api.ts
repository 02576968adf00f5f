import { LintReport, MessageParams } from '@mayfly/client/contract';
import { callersInbox } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { findMessage } from './find-message.ts';

export function lintRoutes(app: App, { deps, held, wholeMails }: RouteContext): void {
  const { store, clock } = deps;

  app.route({
    method: 'GET',
    url: '/v1/inboxes/:id/messages/:messageId/lint',
    config: { access: 'inbox:read' },
    schema: {
      operationId: 'lintMessage',
      tags: ['Messages'],
      summary: 'Find what is wrong with a message',
      description:
        'Checks the message against RFC 5322, RFC 2045 to 2047, RFC 2183, RFC 2369, RFC 2392 and RFC 8058, and its HTML against what mail clients support. Links and images are never fetched.',
      params: MessageParams,
      response: { 200: json(LintReport, 'The findings.') },
    },
    handler: async (request, reply) => {
      const { messageId } = request.params;
      const message = await findMessage(store, callersInbox(request), messageId, clock.now());
      const findings = await held.hold(reply, (signal) => wholeMails.lint(message, signal));
      const text = new TextDecoder().decode(findings);
      return reply.type('application/json; charset=utf-8').send(`{"findings":${text}}`);
    },
  });
}
