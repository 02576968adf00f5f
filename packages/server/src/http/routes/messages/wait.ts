import {
  DEFAULT_WAIT,
  InboxParams,
  ref,
  type WaitExplanation,
  WaitRequest,
  WaitResult,
} from '@mayfly/client/contract';
import { type Explanation, type Outcome, waitAndExplain } from '../../../messages/explain.ts';
import { callersInbox } from '../../access/guard.ts';
import type { App, RouteContext } from '../../context.ts';
import { json } from '../../openapi/responses.ts';
import { baseUrl } from '../../request/urls.ts';
import { toMessage, toSummary } from '../../response/message-json.ts';
import { toTime } from '../../response/time.ts';

const SECOND_MS = 1_000;

export function waitRoutes(app: App, { options, deps, held }: RouteContext): void {
  app.route({
    method: 'POST',
    url: '/v1/inboxes/:id/wait',
    config: { access: 'inbox:read' },
    schema: {
      operationId: 'waitForMessages',
      tags: ['Messages'],
      summary: 'Wait for messages and learn why none arrived',
      description:
        'The response is held until `count` messages match, and contains them in full, **oldest first** (a list is newest first). Without `since` the wait begins with the first message of the inbox, so two identical waits return the same old message: pass the `cursor` of the first as `since` in the second. Without success the response explains why: which messages arrived and which conditions they did not meet, what SMTP refused, which similar addresses received mail, and which senders failed at the TLS handshake. A wait changes nothing and can be repeated; it counts as one request.',
      params: InboxParams,
      body: ref(WaitRequest),
      response: { 200: json(WaitResult, 'How the wait ended.') },
    },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      const { match = {}, since, count = 1, timeoutSeconds = DEFAULT_WAIT } = request.body;
      const expectation = { match, since, count, waitMs: timeoutSeconds * SECOND_MS };
      const caller = { ownsAccount: request.caller?.key != null, remoteAddress: request.ip };
      const outcome = await held.hold(reply, (signal) =>
        waitAndExplain({ ...deps, domains: options.domains }, inbox, expectation, caller, signal),
      );
      return toResult(outcome, baseUrl(options.publicUrl, request));
    },
  });
}

function toResult({ matched, messages, cursor, explanation }: Outcome, base: string): WaitResult {
  return {
    matched,
    messages: messages.map((message) => toMessage(message, base)),
    cursor,
    ...(explanation && { explanation: toExplanation(explanation) }),
  };
}

function toExplanation(explanation: Explanation): WaitExplanation {
  const { reason, seenCount, seen, refused, nearMisses, failedHandshakes } = explanation;
  return {
    reason,
    seenCount,
    seen: seen.map(({ message, failed }) => ({ message: toSummary(message), failed })),
    refused: refused.map((refusal) => ({ ...refusal, at: toTime(refusal.at) })),
    nearMisses: nearMisses.map((miss) => ({ ...miss, at: toTime(miss.at) })),
    failedHandshakes: failedHandshakes.map((failure) => ({ ...failure, at: toTime(failure.at) })),
  };
}
