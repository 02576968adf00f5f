import type { Dispatcher } from 'undici';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { type GuardSettings, readUrl } from './address-guard.ts';
import { type AttemptError, type AttemptOutcome, attemptError, statusError } from './outcome.ts';

/** Time limit of one attempt, from the DNS lookup to the end of the response. */
export const ATTEMPT_TIMEOUT_MS = 15_000;
/** Leaves time for the next address of the same name when one does not respond. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Bytes of a response body that the delivery log keeps: enough for an error message. */
export const RESPONSE_START_BYTES = 1024;
/** Bytes of a response body that are read so that the connection can be reused; beyond, it is closed. */
const RESPONSE_READ_BYTES = 64 * 1024;
/** A date has 29 characters; longer header values are cut. */
const RETRY_AFTER_LENGTH = 64;
/**
 * As many as the deliverer's concurrent attempts in total, so that a slow endpoint does not delay another one
 * on the same host. The deliverer limits the attempts to each endpoint.
 */
export const CONNECTIONS_PER_ORIGIN = 768;

export interface SenderSettings extends GuardSettings {
  clock: Clock;
  /** Identifies the server to receivers, such as `Mayfly/0.1.0`. */
  userAgent: string;
}

export interface Attempt {
  url: string;
  /** Headers of the signature. The sender adds Content-Type, User-Agent and Accept-Encoding. */
  headers: Record<string, string>;
  /** JSON, exactly as signed. */
  body: string | Uint8Array;
  /** Default: {@link ATTEMPT_TIMEOUT_MS}. */
  timeoutMs?: number;
  /** Aborts the attempt; its outcome is then `aborted`. */
  signal?: AbortSignal;
}

export interface Sender {
  /**
   * Sends one POST request. Never throws for anything the endpoint does: every end is an outcome. The status
   * decides; a body that is endless, malformed or slow is cut and does not change the outcome.
   */
  send(attempt: Attempt): Promise<AttemptOutcome>;
  /** Aborts attempts in progress and closes all connections. Safe to call twice. */
  close(): Promise<void>;
}

/** The HTTP client of webhooks: guarded against SSRF, follows no redirects, limited in time and size. */
export function createSender({ allow, resolve, clock, userAgent }: SenderSettings): Sender {
  let closed = false;
  let opened: ReturnType<typeof open> | undefined;
  /** Loaded with the first attempt: undici takes 5 MB, and many servers send no webhooks. */
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
      const began = clock.monotonic();
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
              // The body of a receiver that compresses nevertheless is not decompressed.
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
          durationMs: clock.monotonic() - began,
          error,
          responseStart,
          retryAfter: headerOf(answer, 'retry-after')?.slice(0, RETRY_AFTER_LENGTH) ?? null,
        };
      } catch (thrown) {
        const error = failure(thrown, limit.cause() ?? (closed ? 'aborted' : undefined), timeoutMs);
        const durationMs = clock.monotonic() - began;
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
   * Starts the work unless the signal is aborted, and rejects as soon as it is: undici reacts to an abort only
   * once it has a connection, which may never exist. (It sends nothing then.)
   */
  race<T>(work: () => Promise<T>): Promise<T>;
  /** Why the attempt ended early, if it did. */
  cause(): 'timeout' | 'aborted' | undefined;
  end(): void;
}

/** Combines the time limit and the caller's signal into one signal. */
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
        // A remaining listener would keep this signal alive as long as the caller's.
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
    return { code: 'timeout', message: `The endpoint did not respond within ${timeoutMs / 1000} seconds.` };
  }
  if (cause === 'aborted') {
    return { code: 'aborted', message: 'Mayfly aborted the attempt.' };
  }
  return attemptError(thrown);
}

/**
 * Reads the body up to {@link RESPONSE_READ_BYTES} and returns its start; for a longer body the connection is
 * closed. Errors come after the status and only shorten the text.
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
    // The time limit or the endpoint ended it: what was received is kept.
  }
  if ((headerOf(answer, 'content-encoding') ?? 'identity') !== 'identity') return '';
  // Decoded as a stream, so that an incomplete character at the end is omitted.
  const text = new TextDecoder().decode(Buffer.concat(kept), { stream: true });
  return text.replaceAll(/(?![\t\r\n])\p{Cc}/gu, '\uFFFD');
}

/** The first value of a header, or null. */
function headerOf(answer: Dispatcher.ResponseData, name: string): string | null {
  const value = answer.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
