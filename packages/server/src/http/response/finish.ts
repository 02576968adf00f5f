import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { Histogram } from '../../operations/metrics.ts';
import { plainAddress } from '../../text/source-key.ts';
import type { App, HttpDeps, RouteContext } from '../context.ts';
import {
  CONNECTION_LIMITS,
  MAX_DISCARDED_BYTES,
  MAX_UNREAD_BYTES,
  MAX_UNREAD_BYTES_PER_ACCOUNT,
  SMALL_RESPONSE_BYTES,
  STREAM_BYTES,
} from '../limits.ts';
import { discardBody, dropChunks } from '../request/body.ts';
import { hasBody } from '../request/headers.ts';
import { type KnownPaths, nothingThere } from '../request/paths.ts';
import { INTERNAL_ERROR, problem, sendProblem, toAppError, toProblem } from './problems.ts';

/** True if the client disconnected before its request was complete: there is no response, and no defect. */
const isAborted = (request: FastifyRequest): boolean =>
  request.raw.destroyed && !request.raw.complete && hasBody(request);

export function sendError(
  deps: Pick<HttpDeps, 'log'>,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const expected = toAppError(error, request);
  if (!expected && isAborted(request)) {
    deps.log.debug(
      { requestId: request.id, err: error },
      'The client disconnected before its request was complete',
    );
  } else if (!expected) deps.log.error({ requestId: request.id, err: error }, 'A request failed');
  const response = expected
    ? toProblem(expected, request.id)
    : { status: 500, headers: {}, body: problem('internal_error', INTERNAL_ERROR, request.id) };
  sendProblem(reply, response);
}

export function respondWithErrors(app: App, deps: HttpDeps, known: KnownPaths): void {
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler((error, request, reply) => sendError(deps, error, request, reply));
  app.setNotFoundHandler((request) => {
    throw nothingThere(request, known);
  });
}

const remoteAddressOf = ({ ip }: FastifyRequest): string | undefined => ip && plainAddress(ip);

/** Seconds: from a cached response (1 ms) to the longest held request. */
const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

export function observeRequests(app: App, deps: HttpDeps): void {
  const seconds = new Histogram({
    name: 'mayfly_http_request_seconds',
    help: 'Seconds from the headers of a request to the end of its response, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_SECONDS,
    registers: [deps.metrics],
  });
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none';
    const ms = reply.elapsedTime;
    const { method } = request;
    seconds.observe({ method, route, status: reply.statusCode }, ms / 1_000);
    if (!deps.log.isLevelEnabled('info')) return done();
    deps.log.info(
      {
        requestId: request.id,
        method,
        route,
        status: reply.statusCode,
        ms: Math.round(ms * 10) / 10,
        remoteAddress: remoteAddressOf(request),
        accountId: request.admitted?.accountId,
        keyId: request.caller?.key?.key.id,
        inboxId: request.caller?.inbox?.id,
      },
      'A request was answered',
    );
    done();
  });
}

function heldBytes(payload: unknown): number {
  if (typeof payload === 'string' || payload instanceof Uint8Array) return payload.length;
  return payload === null || payload === undefined ? 0 : STREAM_BYTES;
}

/** Disconnects a client that does not read its response: Node's own limit is the longer one of idle connections. */
function limitReading({ raw }: FastifyReply, ms: number, giveBack: () => void): void {
  raw.socket?.setTimeout(ms);
  raw.once('close', giveBack);
}

/** True if a client is sending a body. One that waits for 100 Continue is not: its connection is being closed. */
const isSending = (request: FastifyRequest, { raw }: FastifyReply): boolean =>
  hasBody(request) && !request.raw.complete && raw.getHeader('connection') !== 'close';

/** Reads the rest of an unused body up to a limit; beyond it the response closes the connection. */
export function dropBody(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
  const finish = (isRead: boolean): void => {
    if (!isRead) reply.header('connection', 'close');
    done();
  };
  if (isSending(request, reply)) discardBody(request.raw, MAX_DISCARDED_BYTES, finish);
  else finish(true);
}

/** Adds the headers of the limits, counts unread responses, and closes connections while the server stops. */
export function finishResponses(app: App, { options, admission, held }: RouteContext): void {
  const { unreadResponseMs: unreadMs } = { ...CONNECTION_LIMITS, ...options.limits };
  const budget = new ResponseBudget();
  app.addHook('onSend', (request, reply, payload, done) => {
    const { admitted } = request;
    if (admitted) {
      const bytes = heldBytes(payload);
      if (bytes > SMALL_RESPONSE_BYTES) {
        try {
          limitReading(reply, unreadMs, budget.take(admitted.accountId, bytes));
        } catch (error) {
          return done(error as Error);
        }
      }
      admission.settle(admitted, reply.statusCode);
      reply.headers(admission.headers(admitted));
    }
    if (held.released) reply.header('connection', 'close');
    if (request.caller !== null) return done();
    dropBody(request, reply, done);
  });
  app.addHook('onResponse', ({ raw }, _reply, done) => {
    dropChunks(raw);
    done();
  });
}

const MIB = 1024 * 1024;

/** Bytes of unread responses in memory. The limit per account keeps one account from using up that of the process. */
class ResponseBudget {
  readonly #byAccount = new Map<string, number>();
  #total = 0;

  /**
   * Counts a response; the returned function releases it, and may be called twice.
   * @throws AppError `rate_limited` if the account has too many unread bytes, `unavailable` if all together have
   */
  take(accountId: string, bytes: number): () => void {
    const own = this.#byAccount.get(accountId) ?? 0;
    // A single response is sent whatever its size; otherwise it could never be read.
    if (own > 0 && own + bytes > MAX_UNREAD_BYTES_PER_ACCOUNT) {
      throw new AppError(
        'rate_limited',
        `The account has ${MAX_UNREAD_BYTES_PER_ACCOUNT / MIB} MiB of responses that were not read yet, the limit on this server. Read them, or end their connections, and retry.`,
        { retryAfterSeconds: 1 },
      );
    }
    if (this.#total > 0 && this.#total + bytes > MAX_UNREAD_BYTES) {
      throw new AppError(
        'unavailable',
        'The server holds as many unread responses as its memory allows. Retry after 1 second.',
        { retryAfterSeconds: 1 },
      );
    }
    this.#byAccount.set(accountId, own + bytes);
    this.#total += bytes;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#total -= bytes;
      const left = (this.#byAccount.get(accountId) ?? 0) - bytes;
      if (left > 0) this.#byAccount.set(accountId, left);
      else this.#byAccount.delete(accountId);
    };
  }
}

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  // Mail is private and may be deleted at any time: caches must revalidate.
  'cache-control': 'private, no-cache',
};

export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
}
