import type { Dispatcher } from 'undici';
import type { Clock } from '../../clock.ts';
import { AppError } from '../../errors.ts';
import { type GuardSettings, guardedLookup, readUrl, requireAllowedLiteral } from './address-guard.ts';
import { type AttemptError, type AttemptOutcome, attemptError, statusError } from './outcome.ts';

/** Time limit of one attempt, from the DNS lookup to the end of the response. */
export const ATTEMPT_TIMEOUT_MS = 15_000;
/** Includes the TLS handshake, and leaves time to try the host's next address. */
const CONNECT_TIMEOUT_MS = 10_000;
/** Less than the five seconds after which common servers close idle connections without notice. */
const KEEP_ALIVE_MS = 4000;
/** After this many requests, the next one opens a new connection, whose address is checked again. */
const REQUESTS_PER_CONNECTION = 100;
export const RESPONSE_START_BYTES = 1024;
/** Limit of bytes read from a response. If a response is longer, its connection is closed and not reused. */
const RESPONSE_READ_BYTES = 64 * 1024;
const RETRY_AFTER_LENGTH = 64;
/** The same as the limit of concurrent attempts, so that webhooks on one host do not delay each other. */
export const CONNECTIONS_PER_ORIGIN = 768;

interface Attempt {
  url: string;
  /** Header names must be lower case. The default Content-Type is JSON. */
  headers: Record<string, string>;
  body: string | Uint8Array;
  signal?: AbortSignal;
}

export type Sender = ReturnType<typeof createSender>;

/** Loads undici. The agent ignores HTTP_PROXY, because a proxy would bypass the address check. */
async function openAgent(guard: GuardSettings) {
  const { Agent, request } = await import('undici');
  const agent = new Agent({
    connect: { lookup: guardedLookup(guard), autoSelectFamily: true, timeout: CONNECT_TIMEOUT_MS },
    allowH2: false,
    connections: CONNECTIONS_PER_ORIGIN,
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    maxRequestsPerClient: REQUESTS_PER_CONNECTION,
    // No limits here: `send` has one time limit for the whole attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  return { agent, request };
}

/** The HTTP client of webhooks. It prevents SSRF, follows no redirects, and limits time and size. */
export function createSender(deps: GuardSettings & { clock: Clock; userAgent: string }) {
  const { allow, resolve, clock, userAgent } = deps;
  const closing = new AbortController();
  let opened: ReturnType<typeof openAgent> | undefined;

  async function post({ url, headers, body }: Attempt, signal: AbortSignal) {
    signal.throwIfAborted();
    const target = readUrl(url);
    // The guarded lookup is called for host names only, so IP addresses are checked here.
    requireAllowedLiteral(target, allow);
    // `namesAddresses` is omitted: the outcome of an attempt must not reveal addresses.
    opened ??= openAgent({ allow, resolve });
    const { agent, request } = await opened;
    const own = { 'user-agent': userAgent, 'accept-encoding': 'identity' };
    return request(target, {
      dispatcher: agent,
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers, ...own },
      body,
      signal,
    });
  }

  return {
    /** Never rejects. @returns undefined if the attempt was aborted, which says nothing about the endpoint */
    async send(attempt: Attempt): Promise<AttemptOutcome | undefined> {
      const began = clock.monotonic();
      const timeUp = new AbortController();
      const ended = new AbortController();
      const { signal: own } = attempt;
      const signal = AbortSignal.any([timeUp.signal, closing.signal, ...(own ? [own] : [])]);
      void clock.sleep(ATTEMPT_TIMEOUT_MS, ended.signal).then(() => timeUp.abort());
      // undici handles an abort only after it has connected, so do not wait for undici.
      const aborted = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => aborted.reject(signal.reason));
      const durationMs = () => clock.monotonic() - began;
      try {
        const answer = await Promise.race([aborted.promise, post(attempt, signal)]);
        const responseStart = await readStart(answer);
        const retryAfter = headerOf(answer, 'retry-after')?.slice(0, RETRY_AFTER_LENGTH) ?? null;
        const { statusCode: status } = answer;
        const error = statusError(status);
        return { ok: error === null, status, durationMs: durationMs(), error, responseStart, retryAfter };
      } catch (thrown) {
        const error = failure(thrown, signal, timeUp.signal);
        const nothing = { ok: false, status: null, responseStart: '', retryAfter: null };
        return error && { ...nothing, durationMs: durationMs(), error };
      } finally {
        ended.abort();
      }
    },
    async close(): Promise<void> {
      closing.abort();
      await (await opened)?.agent.destroy();
    },
  };
}

function failure(thrown: unknown, signal: AbortSignal, timeUp: AbortSignal): AttemptError | undefined {
  if (thrown instanceof AppError) return { code: 'url_refused', message: thrown.message };
  if (!signal.aborted) return attemptError(thrown);
  if (signal.reason !== timeUp.reason) return undefined;
  const message = `The endpoint did not respond within ${ATTEMPT_TIMEOUT_MS / 1_000} seconds.`;
  return { code: 'timeout', message };
}

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
    // Not a failure, because the status has arrived. The log shows the part of the body before the error.
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
