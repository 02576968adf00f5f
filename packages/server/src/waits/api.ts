import { setImmediate } from 'node:timers/promises';
import {
  DEFAULT_WAIT,
  FailedWait,
  InboxParams,
  ref,
  type WaitExplanation,
  WaitParams,
  WaitRequest,
  WaitResult,
} from '@mayfly/client/contract';
import { SECOND_MS } from '../clock.ts';
import { plainAddress } from '../connection-limiter.ts';
import { notFound } from '../errors.ts';
import { callerOf, callersInbox } from '../http/access/guard.ts';
import type { App, RouteContext } from '../http/context.ts';
import { json } from '../http/openapi/responses.ts';
import { baseUrl } from '../http/request/inputs.ts';
import { sendJson } from '../http/response/etag.ts';
import { toTime } from '../http/response/time.ts';
import { routesOf } from '../http/route.ts';
import { timeOfId } from '../ids.ts';
import { throwEnded } from '../inboxes/records.ts';
import { NO_CONTENT } from '../mail/mail.ts';
import { toMessage, toSummary } from '../messages/json.ts';
import { toRefusedMail } from '../refusals/api.ts';
import type { Explanation, Outcome, WaitedMessage } from './outcome.ts';
import { waitAndExplain } from './wait.ts';

const LONG_JSON_BYTES = 128 * 1024;

export function waitRoutes(app: App, { options, deps, held, heldDeps }: RouteContext): void {
  const { store, refusalsWritten, clock, waitLog, smtp, receivesAll = false } = deps;
  const route = routesOf(app, 'Messages');

  route('POST /v1/inboxes/:id/wait', {
    access: 'inbox:read',
    operationId: 'waitForMessages',
    summary: 'Wait for messages and learn why none arrived',
    description:
      'The response is held until `count` messages match, and contains them in full, **oldest first** (a list is newest first). Without `since` the wait begins with the first message of the inbox, so two identical waits return the same old message: pass the `cursor` of the first as `since` in the second. Without success the response explains why: which messages arrived and which conditions they did not meet, what SMTP refused, which similar addresses and other inboxes received mail, and which senders failed at the TLS handshake; `summary` says it in a sentence. Messages with more than 2 MiB of text and headers, and those beyond 8 MiB together, are returned without their content, with `truncated: true`: read them one by one. A wait changes nothing and can be repeated; it counts as one request.',
    params: InboxParams,
    body: ref(WaitRequest),
    response: { 200: json(WaitResult, 'How the wait ended.') },
    handler: async (request, reply) => {
      const inbox = callersInbox(request);
      const { match = {}, since, count = 1, timeoutSeconds = DEFAULT_WAIT } = request.body;
      const { waitedSeconds = 0, askedSeconds } = request.body;
      const expectation = {
        ...{ match, since, count, waitMs: timeoutSeconds * SECOND_MS, waitedMs: waitedSeconds * SECOND_MS },
        askedMs: askedSeconds && askedSeconds * SECOND_MS,
      };
      const begun = clock.monotonic();
      const waitDeps = {
        ...{ held: heldDeps, store, refusalsWritten, domains: options.domains },
        ...{ visits: smtp?.visits ?? null, seesAllClients: receivesAll },
        ...{ ownsAccount: request.caller?.key != null, remoteAddress: plainAddress(request.ip) },
      };
      const wait = (signal: AbortSignal) => waitAndExplain(waitDeps, inbox, expectation, signal);
      const outcome = await held.hold(reply, wait);
      const waitedMs = Math.round(clock.monotonic() - begun) + expectation.waitedMs;
      const explanation = outcome.explanation && toExplanation(outcome.explanation);
      // A session means the console, which reads inboxes by waits of 0 seconds. Such waits belong to no test.
      const isRecorded = request.session === undefined;
      const waitId = isRecorded && waitLog.add(inbox, expectation, { ...outcome, waitedMs }, explanation);
      const explained = { ...(explanation && { explanation }), ...(waitId && { waitId }) };
      const json = await resultJson(outcome, explained, baseUrl(options.publicUrl, request));
      return sendJson(reply, json, null);
    },
  });

  route('GET /v1/inboxes/:id/waits/:waitId', {
    access: 'inbox:read-ended',
    operationId: 'getWait',
    summary: 'Read what a failed wait has explained',
    description:
      'A wait that failed returns a `waitId`. What it has explained is kept for 24 hours, for the last 20 failed waits of an inbox, and never changes; but what messages said is removed when the inbox ends. API keys read it also after that. Waits that end on another node can be read after a moment.',
    params: WaitParams,
    response: { 200: json(FailedWait, 'The failed wait.') },
    handler: async (request) => {
      const { id, waitId } = request.params;
      const { account } = callerOf(request);
      await waitLog.flushed();
      const now = clock.now();
      const found = await store.waits.find(account.id, id, waitId, now);
      const inbox = { accountId: account.id, id };
      if (!found) return throwEnded(store.inboxes, inbox, now, notFound('wait', waitId));
      const { explanation, ...ended } = JSON.parse(found.plain);
      const content = found.content === null ? {} : JSON.parse(found.content);
      const endedAt = toTime(timeOfId('wai', waitId) ?? 0);
      return {
        ...{ id: waitId, inboxId: id, endedAt, hasContent: found.content !== null, ...ended },
        explanation: { ...explanation, ...content },
      };
    },
  });
}

/** Replaces the envelope of a message that is too large to return. */
const NO_ENVELOPE = { mailFrom: '', helo: '', remoteAddress: '', tls: false };

function textOf({ message, full }: WaitedMessage, base: string): string {
  if (full) return JSON.stringify(toMessage(full, base));
  const empty = {
    ...{ content: NO_CONTENT, envelope: NO_ENVELOPE, authentication: null, index: null },
    ...{ accountId: '', trail: [], isPartial: true },
  };
  return JSON.stringify({ ...toMessage({ ...message, ...empty }, base), truncated: true });
}

async function resultJson(
  { matched, messages, cursor }: Outcome,
  explained: Pick<WaitResult, 'explanation' | 'waitId'>,
  base: string,
): Promise<Buffer> {
  const result: Omit<WaitResult, 'messages'> = {
    ...{ matched, cursor },
    ...(messages.some(({ full }) => full === null) && { truncated: true }),
    ...explained,
  };
  const pieces: Buffer[] = [Buffer.from(`${JSON.stringify(result).slice(0, -1)},"messages":[`)];
  for (const [at, message] of messages.entries()) {
    const piece = Buffer.from(`${at === 0 ? '' : ','}${textOf(message, base)}`);
    pieces.push(piece);
    if (piece.length > LONG_JSON_BYTES) await setImmediate();
  }
  pieces.push(Buffer.from(']}'));
  return Buffer.concat(pieces);
}

function toExplanation(explanation: Explanation): WaitExplanation {
  const { reason, summary, seenCount, seen, refused, nearMisses, otherMail, failedHandshakes } = explanation;
  return {
    ...{ reason, summary, seenCount },
    causes: explanation.causes.map(({ code, certainty, text }) => ({ code, certainty, text })),
    seen: seen.map(({ message, failed }) => ({ message: toSummary(message), failed })),
    refused: refused.map(toRefusedMail),
    nearMisses: nearMisses.map((miss) => ({ ...miss, at: toTime(miss.at) })),
    otherMail: otherMail.map((mail) => ({ ...mail, at: toTime(mail.at) })),
    failedHandshakes: failedHandshakes.map(({ hasRecovered: _, ...one }) => ({ ...one, at: toTime(one.at) })),
  };
}
