import { ConnectionError, WaitTimeoutError } from './errors.ts';
import { explanationLines, seconds } from './explain.ts';
import type * as api from './generated/api.ts';
import { describe, type Match, splitMatch } from './match.ts';
import { Message } from './message.ts';
import { now, sleep } from './time.ts';
import { pauseBefore, type Transport } from './transport.ts';

/** Proxies cut requests that are held longer: several in a row wait for the rest. */
const MAX_HOLD_SECONDS = 25;
/**
 * For the way there and back of a held request, and for the last look after the deadline. It takes milliseconds;
 * only a machine that is very busy needs more, and there a late answer is better than none.
 */
const GRACE_MS = 5_000;
/** For the question whether a message came too early: without an answer its line is left out. */
const HINT_MS = 1_000;
/** A hold ends this close to the deadline: not worth another request. */
const CLOSE_MS = 50;

const WAIT = 'POST /v1/inboxes/{id}/wait';

/** What one wait is about. */
export interface WaitTarget {
  transport: Transport;
  inboxId: string;
  /** For people: the address where it is known, else the id. */
  name: string;
  /** The page that explains the wait in the web console. */
  url: string;
}

export interface WaitFor {
  match: Match;
  count: number;
  timeoutMs: number;
  /** Undefined: from the beginning of the inbox. */
  since: string | undefined;
  signal: AbortSignal | undefined;
}

/**
 * Holds requests one after the other until a message matches or the time is over. Requests that a proxy or a
 * restart cuts are repeated with the same `since`, so nothing is missed or returned twice.
 * @returns the last result; `isFinal` is false when the last look failed, and the result is an earlier one
 * @throws ApiError for a refusal, ConnectionError when no request succeeded in time
 */
async function hold(
  { transport, inboxId }: WaitTarget,
  body: api.WaitRequest,
  end: number,
  signal: AbortSignal | undefined,
): Promise<{ result: api.WaitResult; isFinal: boolean }> {
  let last: api.WaitResult | undefined;
  for (let failures = 0; ; ) {
    const left = end - now();
    const timeoutSeconds = Math.max(0, Math.min(MAX_HOLD_SECONDS, Math.ceil(left / 1000)));
    // The server counts in seconds. A part of one is cut here, and then looked at once more.
    const holdMs = Math.max(0, Math.min(timeoutSeconds * 1000, left));
    const isPart = timeoutSeconds * 1000 > left + CLOSE_MS && left > 0;
    try {
      const result = (await transport.send(
        WAIT,
        {
          path: { id: inboxId },
          body: { ...body, timeoutSeconds },
          signal,
          timeoutMs: holdMs + (isPart ? 0 : GRACE_MS),
        },
        0,
      )) as api.WaitResult;
      const isStopping = result.explanation?.reason === 'server_stopping';
      if (result.matched || (!isStopping && now() > end - CLOSE_MS)) return { result, isFinal: true };
      last = result;
      failures = isStopping ? failures + 1 : 0;
      if (isStopping) await sleep(pauseBefore(undefined, failures) ?? 0, signal);
    } catch (error) {
      signal?.throwIfAborted();
      if (isPart && now() >= end) continue;
      failures++;
      const cause = error instanceof ConnectionError ? error.cause : error;
      const pause = pauseBefore(cause, failures);
      if (pause === undefined || (pause > left && left > GRACE_MS)) throw error;
      if (left <= 0) {
        if (last) return { result: last, isFinal: false };
        throw error instanceof ConnectionError ? new ConnectionError(transport.url, failures, cause) : error;
      }
      await sleep(Math.min(pause, Math.max(0, end - now())), signal);
    }
  }
}

/**
 * Waits for messages, oldest first.
 * @throws WaitTimeoutError with the explanation as text, and everything that a request throws
 */
export async function waitForMessages(target: WaitTarget, wanted: WaitFor): Promise<Message[]> {
  const { match, count, timeoutMs, signal } = wanted;
  const { onServer, failures } = splitMatch(match);
  const end = now() + timeoutMs;
  const found: Message[] = [];
  const rejected: api.SeenMessage[] = [];
  let since = wanted.since;
  for (;;) {
    // A condition that is checked here needs one message at a time, each behind the one before.
    const body = { match: onServer, count: failures ? 1 : count, ...(since !== undefined && { since }) };
    const { result, isFinal } = await hold(target, body, end, signal);
    const messages = result.messages.map((fields) => new Message(fields));
    if (result.matched && failures) {
      for (const message of messages) {
        const failed = failures(message);
        if (failed.length === 0) found.push(message);
        else rejected.unshift({ message, failed });
      }
      since = result.cursor;
      if (found.length < count) continue;
    }
    if (result.matched) return failures ? found : messages;
    const explanation = result.explanation && {
      ...result.explanation,
      seenCount: result.explanation.seenCount + rejected.length,
      seen: [...rejected, ...result.explanation.seen],
    };
    throw await timeoutError(target, wanted, found.length + messages.length, explanation, isFinal);
  }
}

async function timeoutError(
  target: WaitTarget,
  wanted: WaitFor,
  foundCount: number,
  explanation: api.WaitExplanation | undefined,
  isFinal: boolean,
): Promise<WaitTimeoutError> {
  const { match, count, timeoutMs, signal } = wanted;
  const subject =
    foundCount > 0
      ? `Only ${foundCount} of ${count} mails`
      : count > 1
        ? `None of ${count} mails`
        : 'No mail';
  const lines = [
    ...(explanation ? explanationLines(explanation) : []),
    ...(await earlierLines(target, wanted, signal)),
    ...(isFinal ? [] : ['The server could not be reached at the end: this is what it said before.']),
    `Look: ${target.url}`,
  ];
  const text = `${subject}${describe(match)} reached ${target.name} in ${seconds(timeoutMs)}.\n  ${lines.join('\n  ')}`;
  return new WaitTimeoutError(text, target.inboxId, timeoutMs, explanation, isFinal);
}

/** A message that matches, but came before the one that the handle returned last, is a common surprise. */
async function earlierLines(target: WaitTarget, { match, since }: WaitFor, signal: AbortSignal | undefined) {
  if (!since) return [];
  const { onServer, failures } = splitMatch(match);
  try {
    const body = { match: onServer, timeoutSeconds: 0 };
    const input = { path: { id: target.inboxId }, body, signal, timeoutMs: HINT_MS };
    const { messages } = (await target.transport.send(WAIT, input, 0)) as api.WaitResult;
    const [first] = messages.map((fields) => new Message(fields));
    if (!first || (failures && failures(first).length > 0)) return [];
    return [
      `${JSON.stringify(first.subject)} matches, but came before the position at which this wait began: pass since: 'start' to include it.`,
    ];
  } catch {
    signal?.throwIfAborted();
    return [];
  }
}
