import type { Dispatcher } from 'undici';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { type GuardSettings, readUrl } from './address-guard.ts';
import { type AttemptError, type AttemptOutcome, attemptError, statusError } from './outcome.ts';

/** Time limit of one attempt, from the DNS lookup to the end of the response. */
export const ATTEMPT_TIMEOUT_MS = 15_000;
/** Leaves time to try the host's next address when one does not respond. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Bytes of a response body that the delivery log keeps. */
export const RESPONSE_START_BYTES = 1024;
/** Up to this many bytes of a response body are read, so that its connection can be reused; a longer body closes it. */
const RESPONSE_READ_BYTES = 64 * 1024;
/** Characters of a Retry-After header that are kept; a date has 29. */
const RETRY_AFTER_LENGTH = 64;
/** The deliverer's maximum of concurrent attempts, so that endpoints on the same host do not delay each other. */
export const CONNECTIONS_PER_ORIGIN = 768;

export interface SenderSettings extends GuardSettings {
  clock: Clock;
  /** The User-Agent header, such as `Mayfly/0.1.0`. */
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
  signal?: AbortSignal;
}

export interface Sender {
  /** Sends one POST request. Never rejects: failures are outcomes too. Only the status decides, whatever the body is. */
  send(attempt: Attempt): Promise<AttemptOutcome>;
  /** Aborts attempts in progress. Safe to call twice. */
  close(): Promise<void>;
}

/** The HTTP client of webhooks: guarded against SSRF, without redirects, limited in time and size. */
export function createSender({ allow, resolve, clock, userAgent }: SenderSettings): Sender {
  let closed = false;
  let opened: ReturnType<typeof open> | undefined;
  /** Loads undici with the first attempt: it takes 5 MB, and many servers send no webhooks. */
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
    async send({ url, headers, body, timeoutMs = ATTEMPT_TIMEOUT_MS, signal: outer }) {
      const began = clock.monotonic();
      const timeUp = new AbortController();
      const ended = new AbortController();
      const signal = AbortSignal.any(outer ? [timeUp.signal, outer] : [timeUp.signal]);
      void clock.sleep(timeoutMs, ended.signal).then(() => timeUp.abort());
      // undici reacts to an abort only once it has a connection, so do not wait for it.
      const aborted = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => aborted.reject(signal.reason));
      const post = async () => {
        if (closed || signal.aborted) throw new Error('closed');
        opened ??= open();
        const { dispatcher, request } = await opened;
        return request(readUrl(url), {
          dispatcher,
          method: 'POST',
          headers: {
            ...headers,
            'content-type': 'application/json',
            'user-agent': userAgent,
            // Bodies that are compressed nevertheless are not decompressed.
            'accept-encoding': 'identity',
          },
          body,
          signal,
        });
      };
      try {
        const answer = await Promise.race([aborted.promise, post()]);
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
        const isAborted = outer?.aborted || (closed && !timeUp.signal.aborted);
        const cause = isAborted ? 'aborted' : timeUp.signal.aborted ? 'timeout' : undefined;
        const error = failure(thrown, cause, timeoutMs);
        const durationMs = clock.monotonic() - began;
        return { ok: false, status: null, durationMs, error, responseStart: '', retryAfter: null };
      } finally {
        ended.abort();
      }
    },
    async close() {
      closed = true;
      await (await opened)?.dispatcher.destroy();
    },
  };
}

function failure(thrown: unknown, cause: 'timeout' | 'aborted' | undefined, timeoutMs: number): AttemptError {
  if (thrown instanceof AppError) return { code: 'url_refused', message: thrown.message };
  if (cause === 'timeout') {
    return { code: 'timeout', message: `The endpoint did not respond within ${timeoutMs / 1000} seconds.` };
  }
  if (cause === 'aborted') {
    return { code: 'aborted', message: 'Mayfly aborted the attempt.' };
  }
  return attemptError(thrown);
}

/** Reads up to {@link RESPONSE_READ_BYTES} and returns the start as text. Errors only shorten it. */
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
    // Keep what was received.
  }
  if ((headerOf(answer, 'content-encoding') ?? 'identity') !== 'identity') return '';
  // `stream` omits an incomplete character at the end.
  const text = new TextDecoder().decode(Buffer.concat(kept), { stream: true });
  return text.replaceAll(/(?![\t\r\n])\p{Cc}/gu, '\uFFFD');
}

function headerOf(answer: Dispatcher.ResponseData, name: string): string | null {
  const value = answer.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
