import type { Dispatcher } from 'undici';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { type GuardSettings, readUrl } from './address-guard.ts';
import { type AttemptError, type AttemptOutcome, attemptError, statusError } from './outcome.ts';

/** From the look-up of the name to the end of the answer (decisions, section 5). */
export const ATTEMPT_TIMEOUT_MS = 15_000;
/** A dead address must leave time for the next one of the same name. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Of an answer's body, what the delivery log keeps: enough for an error message. */
export const RESPONSE_START_BYTES = 1024;
/** Of an answer's body, what is read so that the connection can be used again; then it is cut. */
export const RESPONSE_READ_BYTES = 64 * 1024;
/** A date has 29 characters; a longer header is none. */
const RETRY_AFTER_LENGTH = 64;
/**
 * As many as the delivery loop ever has under way in all, so that a slow endpoint does not hold up
 * another at the same host. A host is kept from floods by the loop, which gives each endpoint a few.
 */
export const CONNECTIONS_PER_ORIGIN = 768;

export interface SenderSettings extends GuardSettings {
  clock: Clock;
  /** Names us to the receiver, such as `Mayfly/0.1.0`. */
  userAgent: string;
}

export interface Attempt {
  url: string;
  /** The signature's headers. Content-Type, User-Agent and Accept-Encoding are the sender's own. */
  headers: Record<string, string>;
  /** JSON, exactly as signed. */
  body: string | Uint8Array;
  /** {@link ATTEMPT_TIMEOUT_MS} unless given. */
  timeoutMs?: number;
  /** Stops the attempt; its outcome is then `aborted`. */
  signal?: AbortSignal;
}

export interface Sender {
  /**
   * POSTs once. Never throws for anything the endpoint does: every end is an outcome. The status
   * decides as soon as it is there; a body that is endless, broken or slow is cut and changes nothing.
   */
  send(attempt: Attempt): Promise<AttemptOutcome>;
  /** Cuts what is under way and closes all connections. Safe to call twice. */
  close(): Promise<void>;
}

/** The only way out for webhooks: guarded, without redirects, bounded in time and in size. */
export function createSender({ allow, resolve, clock, userAgent }: SenderSettings): Sender {
  let closed = false;
  let opened: ReturnType<typeof open> | undefined;
  /** With the first attempt: undici takes 5 MB, and a server may never send a webhook. */
  const open = async () => {
    const { createGuardedDispatcher, request } = await import('./dispatcher.ts');
    const dispatcher = createGuardedDispatcher({
      allow,
      resolve,
      connectionsPerOrigin: CONNECTIONS_PER_ORIGIN,
      connectTimeoutMs: CONNECT_TIMEOUT_MS,
    });
    return { dispatcher, request };
  };
  return {
    async send({ url, headers, body, timeoutMs = ATTEMPT_TIMEOUT_MS, signal }) {
      const began = clock.now();
      const limit = startLimit(clock, timeoutMs, signal);
      try {
        const answer = await limit.race(async () => {
          if (closed) throw new Error('closed');
          opened ??= open();
          const { dispatcher, request } = await opened;
          return request(readUrl(url), {
            dispatcher,
            method: 'POST',
            headers: {
              ...headers,
              'content-type': 'application/json',
              'user-agent': userAgent,
              // A receiver that compresses all the same is not decompressed: its body is not read as text.
              'accept-encoding': 'identity',
            },
            body,
            signal: limit.signal,
          });
        });
        const responseStart = await readStart(answer);
        const error = statusError(answer.statusCode);
        return {
          ok: error === null,
          status: answer.statusCode,
          durationMs: clock.now() - began,
          error,
          responseStart,
          retryAfter: headerOf(answer, 'retry-after')?.slice(0, RETRY_AFTER_LENGTH) ?? null,
        };
      } catch (thrown) {
        const error = failure(thrown, limit.cause() ?? (closed ? 'aborted' : undefined), timeoutMs);
        const durationMs = clock.now() - began;
        return { ok: false, status: null, durationMs, error, responseStart: '', retryAfter: null };
      } finally {
        limit.end();
      }
    },
    async close() {
      closed = true;
      await (await opened)?.dispatcher.destroy();
    },
  };
}

interface Limit {
  signal: AbortSignal;
  /**
   * Begins the work unless it is too late, and rejects as soon as the signal aborts: undici itself
   * hears an abort only once it has a connection, which may never come. (It sends nothing then.)
   */
  race<T>(work: () => Promise<T>): Promise<T>;
  /** What ended the attempt early, if anything did. */
  cause(): 'timeout' | 'aborted' | undefined;
  end(): void;
}

/** One signal for both reasons to stop: the time is up, or the caller wants no more. */
function startLimit(clock: Clock, timeoutMs: number, outer: AbortSignal | undefined): Limit {
  const timeUp = new AbortController();
  const ended = new AbortController();
  clock.sleep(timeoutMs, ended.signal).then(() => {
    if (!ended.signal.aborted) timeUp.abort();
  });
  const signal = outer ? AbortSignal.any([outer, timeUp.signal]) : timeUp.signal;
  return {
    signal,
    race: async (work) => {
      signal.throwIfAborted();
      const aborted = Promise.withResolvers<never>();
      const stop = () => aborted.reject(signal.reason);
      signal.addEventListener('abort', stop);
      try {
        return await Promise.race([aborted.promise, work()]);
      } finally {
        // A listener left behind would keep this signal alive for as long as the caller's.
        signal.removeEventListener('abort', stop);
      }
    },
    cause: () => (outer?.aborted ? 'aborted' : timeUp.signal.aborted ? 'timeout' : undefined),
    end: () => ended.abort(),
  };
}

function failure(thrown: unknown, cause: ReturnType<Limit['cause']>, timeoutMs: number): AttemptError {
  if (thrown instanceof AppError) return { code: 'url_refused', message: thrown.message };
  if (cause === 'timeout') {
    return { code: 'timeout', message: `The endpoint gave no answer within ${timeoutMs / 1000} s.` };
  }
  if (cause === 'aborted') {
    return { code: 'aborted', message: 'The attempt was stopped on our side.' };
  }
  return attemptError(thrown);
}

/**
 * Reads the body up to {@link RESPONSE_READ_BYTES} and answers its beginning; the rest, if any, is cut
 * with its connection. Whatever goes wrong here comes after the status and only shortens the text.
 */
async function readStart(answer: Dispatcher.ResponseData): Promise<string> {
  const kept: Uint8Array[] = [];
  let read = 0;
  try {
    for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
      if (read < RESPONSE_START_BYTES) kept.push(chunk.subarray(0, RESPONSE_START_BYTES - read));
      read += chunk.length;
      if (read > RESPONSE_READ_BYTES) break;
    }
  } catch {
    // Cut by the limit or by the endpoint: what came until then is kept.
  }
  if ((headerOf(answer, 'content-encoding') ?? 'identity') !== 'identity') return '';
  // As a stream, so that a character cut at the border is left out instead of shown broken.
  const text = new TextDecoder().decode(Buffer.concat(kept), { stream: true });
  return text.replaceAll(/(?![\t\r\n])\p{Cc}/gu, '\uFFFD');
}

/** The first value of a header, or null. */
function headerOf(answer: Dispatcher.ResponseData, name: string): string | null {
  const value = answer.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
