import { ApiError, ConnectionError } from './errors.ts';
import type * as api from './generated/api.ts';
import { type Match, splitMatch } from './match.ts';
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
/** A hold ends this close to the deadline: not worth another request. */
const CLOSE_MS = 50;

export const WAIT = 'POST /v1/inboxes/{id}/wait';

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

/** The last result of a wait. */
export interface Held {
  result: api.WaitResult;
  /** False when the last look failed, and the result is an earlier one. */
  isFinal: boolean;
}

/** The next request of a wait that ends in `left` ms. */
function nextHold(left: number) {
  const timeoutSeconds = Math.max(0, Math.min(MAX_HOLD_SECONDS, Math.ceil(left / 1000)));
  const heldMs = timeoutSeconds * 1000;
  // The server counts in seconds. A part of one is cut here, and then looked at once more.
  const isCut = left > 0 && heldMs > left + CLOSE_MS;
  return { timeoutSeconds, isCut, timeoutMs: isCut ? left : Math.max(0, Math.min(heldMs, left)) + GRACE_MS };
}

/** Whether the server looked until the deadline. @throws ApiError for a server that stops: the next one is asked */
function isOver({ explanation }: api.WaitResult, end: number): boolean {
  if (explanation?.reason === 'server_stopping') throw new ApiError(WAIT, 503);
  return now() > end - CLOSE_MS;
}

/** @returns ms until the next attempt. @throws the error when the wait cannot succeed before its deadline */
function pauseAfter(error: unknown, failures: number, left: number): number {
  const pause = pauseBefore(error, failures);
  if (pause === Infinity || (pause > left && left > GRACE_MS)) throw error;
  return pause;
}

/** What a wait ends with when its last request failed: the result before it. @throws the error without one */
function withoutLastLook(last: api.WaitResult | undefined, error: unknown, attempts: number): Held {
  if (last) return { result: last, isFinal: false };
  throw error instanceof ConnectionError ? new ConnectionError(error.url, attempts, error.cause) : error;
}

/**
 * Holds requests one after the other until a message matches or the time is over. Requests that a proxy or a
 * restart cuts are repeated with the same `since`, so nothing is missed or returned twice.
 * @throws ApiError for a refusal, ConnectionError when no request succeeded in time
 */
async function hold(
  { transport, inboxId }: WaitTarget,
  body: object,
  end: number,
  signal: AbortSignal | undefined,
): Promise<Held> {
  let last: api.WaitResult | undefined;
  for (let failures = 0; ; ) {
    const left = end - now();
    const { timeoutSeconds, timeoutMs, isCut } = nextHold(left);
    const input = { path: { id: inboxId }, body: { ...body, timeoutSeconds }, signal, timeoutMs };
    try {
      last = (await transport.send(WAIT, input, 0)) as api.WaitResult;
      if (last.matched || isOver(last, end)) return { result: last, isFinal: true };
      failures = 0;
    } catch (error) {
      signal?.throwIfAborted();
      if (isCut && now() >= end) continue;
      const pause = pauseAfter(error, ++failures, left);
      if (left <= 0) return withoutLastLook(last, error, failures);
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
  const end = now() + timeoutMs;
  const { onServer, failures } = await splitMatch(match);
  const found: Message[] = [];
  const rejected: api.SeenMessage[] = [];
  for (let { since } = wanted; ; ) {
    // A condition that is checked here needs one message at a time, each behind the one before.
    const held = await hold(target, { match: onServer, count: failures ? 1 : count, since }, end, signal);
    for (const fields of held.result.messages) {
      const message = new Message(fields);
      const failed = failures?.(message) ?? [];
      if (failed.length === 0) found.push(message);
      else rejected.unshift({ message, failed });
    }
    if (!held.result.matched) {
      // Loaded only by a wait that fails.
      const { timeoutError } = await import('./timeout.ts');
      throw await timeoutError(target, wanted, found.length, rejected, held);
    }
    if (found.length >= count) return found;
    since = held.result.cursor;
  }
}
