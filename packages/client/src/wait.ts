import type * as api from './generated/api.ts';
import { isLocal, type Match } from './match.ts';
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

/** Of a whole wait, the most that the API takes: a day. */
const MAX_SECONDS = 86_400;

export const WAIT = 'POST /v1/inboxes/{id}/wait';

/** The inbox of a wait. */
export interface WaitTarget {
  id: string;
  /** For people: the address where it is known, else the id. */
  name: string;
  consoleUrl: string;
  labels: Record<string, string>;
}

export interface WaitFor {
  match: Match;
  count: number;
  timeoutMs: number;
  /** How long the test wanted to wait, where it has less time. */
  askedMs: number | undefined;
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

/**
 * Holds requests one after the other until a message matches or the time is over. Requests that a proxy or a
 * restart cuts are repeated with the same `since`, so nothing is missed or returned twice.
 * @throws ApiError for a refusal, ConnectionError when no request succeeded in time
 */
export async function hold(
  transport: Transport,
  id: string,
  body: object,
  end: number,
  signal: AbortSignal | undefined,
): Promise<Held> {
  const begun = now();
  let last: api.WaitResult | undefined;
  for (let failures = 0; ; ) {
    const left = Math.max(0, end - now());
    const timeoutSeconds = Math.min(MAX_HOLD_SECONDS, Math.ceil(left) / 1000);
    // Servers that name failed waits also know this field: they explain the whole wait, not its last request.
    const waited = last?.waitId && { waitedSeconds: Math.min((now() - begun) / 1000, MAX_SECONDS) };
    const input = { path: { id }, body: { ...body, timeoutSeconds, ...waited }, signal };
    try {
      last = (await transport.attempt(WAIT, input, timeoutSeconds * 1000 + GRACE_MS)) as api.WaitResult;
      if (last.truncated) {
        const { inFull } = await import('./truncated.ts');
        last.messages = await inFull(transport, id, last.messages, signal);
      }
      if (last.matched) return { result: last, isFinal: true };
      // It looked earlier than it was asked to, because it stops: the next one is asked.
      if (last.explanation?.reason === 'server_stopping') throw new Error('The server is stopping.');
      // By what was asked for, not by the clock: a test that stops all clocks still gets its answer.
      if (timeoutSeconds * 1000 > left - CLOSE_MS) return { result: last, isFinal: true };
      failures = 0;
    } catch (failure) {
      signal?.throwIfAborted();
      const pause = pauseBefore(failure, ++failures);
      const isHopeless = pause === Infinity || (pause > left && left > GRACE_MS);
      if (left === 0 && last && !isHopeless) return { result: last, isFinal: false };
      if (left === 0 || isHopeless) throw await transport.errorFor(failure, failures);
      await sleep(Math.min(pause, end - now()), signal);
    }
  }
}

/** The time that was wanted, as a field of a request. */
export const asked = ({ askedMs }: WaitFor): { askedSeconds?: number } =>
  askedMs === undefined ? {} : { askedSeconds: Math.min(askedMs / 1000, MAX_SECONDS) };

/**
 * Waits for messages, oldest first.
 * @throws WaitTimeoutError with the explanation as text, and everything that a request throws
 */
export async function waitForMessages(
  transport: Transport,
  inbox: WaitTarget,
  wanted: WaitFor,
): Promise<Message[]> {
  const { match, count, since, timeoutMs, signal } = wanted;
  if (isLocal(match)) return (await import('./checks.ts')).waitAndCheck(transport, inbox, wanted);
  const held = await hold(
    transport,
    inbox.id,
    { match, count, since, ...asked(wanted) },
    now() + timeoutMs,
    signal,
  );
  const { matched, messages } = held.result;
  if (matched) return messages.map((fields) => new Message(fields));
  // Loaded only by a wait that fails.
  const { timeoutError } = await import('./timeout.ts');
  throw await timeoutError(transport, inbox, wanted, messages.length, [], held);
}
