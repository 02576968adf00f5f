import type { FastifyReply, FastifyRequest } from 'fastify';
import { hasDevKey } from '../../config/config.ts';
import { plainAddress } from '../../connection-limiter.ts';
import { AppError } from '../../errors.ts';
import { Histogram } from '../../operations/metrics.ts';
import type { App, HttpDeps, RouteContext } from '../context.ts';
import { MAX_UNREAD_BYTES_PER_ACCOUNT } from '../limits.ts';
import { assertReadable, dropBody, dropChunks } from '../request/inputs.ts';
import { type KnownPaths, nothingThere } from '../request/paths.ts';
import { createAdmission } from './admission.ts';
import { assertLocal, devKeyUnknown, isDevKey, sessionSecret } from './credential.ts';
import { type Caller, Guard } from './guard.ts';

/** Response headers that pages of other origins may read (the Fetch standard, section 3.3). */
const EXPOSED_HEADERS = [
  'accept-ranges',
  'allow',
  'content-disposition',
  'content-range',
  'etag',
  'location',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'www-authenticate',
  'x-quota-limit',
  'x-quota-remaining',
  'x-quota-reset',
  'x-request-id',
].join(', ');
/** The longest time for which Chromium caches the response to a preflight request. */
const PREFLIGHT_SECONDS = 7_200;

const ANY = '*';

export type AnswerCors = ReturnType<typeof createCors>;

/** Access-Control-Allow-Credentials is never sent, so other origins cannot use cookies, and `*` is as safe as a list. */
export function createCors(origins: readonly string[]) {
  const isAny = origins.includes(ANY);
  /** @returns true if this was a preflight of an allowed origin, and the response has been sent */
  return ({ method, headers }: FastifyRequest, reply: FastifyReply): boolean => {
    if (origins.length === 0) return false;
    // A cache must not give a response for one origin to pages of another.
    if (!isAny) reply.header('vary', 'Origin');
    if (headers.origin === undefined || !(isAny || origins.includes(headers.origin))) return false;
    reply.header('access-control-allow-origin', isAny ? ANY : headers.origin);
    reply.header('access-control-expose-headers', EXPOSED_HEADERS);
    if (method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
    // Allow all headers, because monitoring scripts add their own headers to all requests of a page.
    const asked = headers['access-control-request-headers'];
    if (asked !== undefined) reply.header('access-control-allow-headers', asked);
    reply
      .code(204)
      .header('access-control-allow-methods', 'GET, HEAD, POST, PUT, PATCH, DELETE')
      .header('access-control-max-age', PREFLIGHT_SECONDS)
      .send();
    return true;
  };
}

export const DIALECT_HEADER = 'x-mayfly-dialect';

export type Gate = Pick<RouteContext, 'guard' | 'admission'>;

export const createGate = (deps: HttpDeps): Gate => ({
  guard: new Guard(deps),
  admission: createAdmission(deps),
});

/** Replaces NUL in path parameters, because PostgreSQL rejects it. @returns false if one is empty, as in `/v1//messages` */
function readPath(params: Record<string, string>): boolean {
  for (const name in params) {
    const value = params[name] ?? '';
    if (value === '' && name !== '*') return false;
    if (value.includes('\0')) params[name] = value.replaceAll('\0', '\ufffd');
  }
  return true;
}

export function guardRequests(
  app: App,
  { options, deps, guard, admission, dialectSecret }: RouteContext,
  answerCors: AnswerCors,
  known: KnownPaths,
): void {
  const acceptsDevKey = hasDevKey(options);
  app.decorateRequest('caller', null);
  app.decorateRequest('admitted', null);
  app.decorateRequest('session', undefined);

  const check = async (request: FastifyRequest): Promise<Caller | null> => {
    assertReadable(request);
    // Check the path before the body is parsed: an error in the body would hide that the path is wrong.
    if (request.is404 || !readPath(request.params as Record<string, string>))
      throw nothingThere(request, known);
    const { access = 'account:write', free = false } = request.routeOptions.config;
    if (access === 'public') return null;
    const { id: inboxId } = request.params as { id?: string };
    const { authorization } = request.headers;
    const isDialect = request.headers[DIALECT_HEADER] === dialectSecret;
    if (deps.hasDevKey && !isDialect && isDevKey(authorization)) {
      if (!acceptsDevKey) throw devKeyUnknown();
      assertLocal(request, options.publicUrl);
    }
    request.session = sessionSecret(request, options.publicUrl);
    const { session } = request;
    return guard.check({ authorization, session, access, inboxId, isDialect }, (account, key) =>
      admission.admit(request, account, key, free || isDialect),
    );
  };

  app.addHook('onRequest', (request, reply, done) => {
    setCommonHeaders(request, reply);
    if (answerCors(request, reply)) return;
    check(request).then((caller) => {
      request.caller = caller;
      reply.statusCode = request.routeOptions.config.status ?? 200;
      done();
    }, done);
  });
}

const REQUEST_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const PROBES = ['/healthz', '/readyz'];

export function observeRequests(app: App, deps: HttpDeps): void {
  const seconds = new Histogram({
    name: 'mayfly_http_request_seconds',
    help: 'Seconds from the headers of a request to the end of its response, by method, route and status.',
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_SECONDS,
    registers: [deps.metrics],
  });
  app.addHook('onResponse', (request, reply, done) => {
    dropChunks(request.raw);
    const route = request.routeOptions.url ?? 'none';
    const ms = reply.elapsedTime;
    const { method } = request;
    seconds.observe({ method, route, status: reply.statusCode }, ms / 1_000);
    const level = PROBES.includes(route) && reply.statusCode < 400 ? 'debug' : 'info';
    if (!deps.log.isLevelEnabled(level)) return done();
    deps.log[level](
      {
        requestId: request.id,
        method,
        route,
        status: reply.statusCode,
        ms: Math.round(ms * 10) / 10,
        remoteAddress: request.ip && plainAddress(request.ip),
        accountId: request.admitted?.accountId,
        keyId: request.caller?.key?.key.id,
        inboxId: request.caller?.inbox?.id,
      },
      'A request was answered',
    );
    done();
  });
}

const MIB = 1024 * 1024;
/** Limit of unread response bytes of all clients together. Fits a server with 512 MiB of memory. */
const MAX_UNREAD_BYTES = 192 * MIB;
/** Smaller responses are not counted: the limit of connections also limits their memory. */
const SMALL_RESPONSE_BYTES = 16 * 1024;
/** Size that is assumed for a stream, because its length is unknown. */
const STREAM_BYTES = 512 * 1024;

function heldBytes(payload: unknown): number {
  if (typeof payload === 'string' || payload instanceof Uint8Array) return payload.length;
  return payload === null || payload === undefined ? 0 : STREAM_BYTES;
}

export function finishResponses(app: App, { admission, held }: RouteContext): void {
  const budget = new ResponseBudget();
  app.addHook('onSend', (request, reply, payload, done) => {
    const { admitted } = request;
    if (admitted) {
      const bytes = heldBytes(payload);
      if (bytes > SMALL_RESPONSE_BYTES) reply.raw.once('close', budget.take(admitted.accountId, bytes));
      admission.settle(admitted, reply.statusCode);
      reply.headers(admission.headers(admitted));
    }
    if (held.isReleased) reply.header('connection', 'close');
    if (request.caller === null) dropBody(request);
    done();
  });
}

class ResponseBudget {
  readonly #byAccount = new Map<string, number>();
  #total = 0;

  /** Counts a response, which may exceed a limit if it is alone. @returns a function that subtracts it */
  take(accountId: string, bytes: number): () => void {
    const own = this.#byAccount.get(accountId) ?? 0;
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
    this.#add(accountId, bytes);
    return () => this.#add(accountId, -bytes);
  }

  #add(accountId: string, bytes: number): void {
    this.#total += bytes;
    const sum = (this.#byAccount.get(accountId) ?? 0) + bytes;
    if (sum > 0) this.#byAccount.set(accountId, sum);
    else this.#byAccount.delete(accountId);
  }
}

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  // Caches must revalidate, because mail is private and may be deleted at any time.
  'cache-control': 'private, no-cache',
};

export function setCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
}
