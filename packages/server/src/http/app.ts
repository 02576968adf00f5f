import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { consolePages } from '../console/pages.ts';
import { AppError } from '../errors.ts';
import { createAdmission } from './access/admission.ts';
import { type Cors, createCors } from './access/cors.ts';
import { type Caller, createGuard } from './access/guard.ts';
import { createHeldRequests, type HeldRequests } from './access/held-requests.ts';
import { sessionSecret } from './access/session.ts';
import type { App, HttpDeps, HttpOptions, RouteContext } from './context.ts';
import {
  HEADERS_TIMEOUT_MS,
  IDLE_CONNECTION_MS,
  KEEP_ALIVE_MS,
  MAX_BODY_BYTES,
  MAX_HEADER_BYTES,
  MAX_PARAMETER,
  REQUEST_TIMEOUT_MS,
} from './limits.ts';
import type { MaybePromise } from './maybe-promise.ts';
import { answerExpect } from './request/expect-continue.ts';
import { parseJsonBody } from './request/json-body.ts';
import { collectPaths, type KnownPaths, nothingThere, unknownPath } from './request/paths.ts';
import { type ParameterTypes, parameterTypes, readParameters, unexpectedParameter } from './request/query.ts';
import { RequestSeconds } from './request-metrics.ts';
import { createAttachmentBytes } from './response/attachment-bytes.ts';
import {
  INTERNAL_ERROR,
  problem,
  rawProblem,
  sendProblem,
  toAppError,
  toProblem,
} from './response/problems.ts';
import { createAnswers } from './response/response-cache.ts';
import { apiRoutes } from './routes/api.ts';
import { sessionRoutes } from './routes/console/session.ts';
import { operationRoutes } from './routes/operations.ts';
import { referenceRoutes } from './routes/reference.ts';

const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  // Mail is private and may be deleted at any time: caches must revalidate.
  'cache-control': 'private, no-cache',
};
/** The HTTP application, before it listens. */
export interface BuiltApp {
  app: App;
  held: HeldRequests;
}

/** Authentication and limits, which every request to a route that is not public passes. */
export type Gate = Pick<RouteContext, 'guard' | 'admission'>;

export const createGate = (deps: HttpDeps): Gate => ({
  guard: createGuard(deps),
  admission: createAdmission(deps.plans, deps.rate, deps.usage, () => deps.clock.now()),
});

/** Builds the app with all its routes. @param gate replaced by the benchmark that measures its cost */
export async function buildApp(
  options: HttpOptions,
  deps: HttpDeps,
  gate: Gate = createGate(deps),
): Promise<BuiltApp> {
  const cors = createCors(options.corsOrigins ?? []);
  const app = createFastify(deps, cors);
  const held = createHeldRequests(gate.guard, deps);
  const attachmentBytes = createAttachmentBytes({
    messages: () => deps.store.messages,
    parsing: () => deps.parsing,
    now: () => deps.clock.now(),
  });
  const context: RouteContext = {
    options,
    deps,
    held,
    attachmentBytes,
    answers: createAnswers(),
    ...gate,
  };

  const known = collectPaths(app);
  parseBodies(app);
  answerExpect(app);
  guardRequests(app, context, cors, known);
  readQueries(app);
  answerErrors(app, deps, known);
  refuseConnect(app);
  observeRequests(app, deps);
  finishAnswers(app, context);
  operationRoutes(app, context);
  referenceRoutes(app, context);
  apiRoutes(app, context);
  if (options.console) {
    sessionRoutes(app, context, options.console.signInCodes);
    consolePages(app, unknownPath);
  }
  return { app, held };
}

function createFastify(deps: HttpDeps, cors: Cors): App {
  return fastify({
    logger: false,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    bodyLimit: MAX_BODY_BYTES,
    connectionTimeout: IDLE_CONNECTION_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    forceCloseConnections: 'idle',
    // A request that still arrives while the server stops is processed as usual; then its connection is closed.
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER },
    http: { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_TIMEOUT_MS, requireHostHeader: false },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: true,
        // Errors carry the wrong value and its schema, for messages that name both.
        verbose: true,
        keywords: ['x-unit'],
      },
    },
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...SECURITY_HEADERS, 'x-request-id': request.id });
      cors.allow(request, reply);
      sendError(deps, error, request, reply);
    },
    clientErrorHandler: answerUnparsable,
  }).withTypeProvider<TypeBoxTypeProvider>();
}

/** Responds on the socket to bytes that are not HTTP. */
function answerUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
  // The client has reset the connection: nothing can be sent.
  if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
  else socket.end(rawProblem(error.code, randomUUID()));
}

/** CONNECT requests a proxy and has no path, so Node passes only its socket. */
function refuseConnect(app: App): void {
  app.server.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => socket.destroy());
    socket.write(rawProblem('CONNECT', randomUUID()));
    socket.destroySoon();
  });
}

function parseBodies(app: App): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    if (body.length === 0) return done(null, undefined);
    try {
      done(null, parseJsonBody(body as Buffer));
    } catch (error) {
      done(error as Error, undefined);
    }
  });
}

function guardRequests(
  app: App,
  { options, guard, admission }: RouteContext,
  cors: Cors,
  known: KnownPaths,
): void {
  app.decorateRequest('caller', null);
  app.decorateRequest('admitted', null);
  app.decorateRequest('session', undefined);

  const check = (request: FastifyRequest): MaybePromise<Caller> | null => {
    if (request.raw.headers.host === undefined && request.raw.httpVersionMinor === 1) {
      // RFC 9112 section 3.2
      throw new AppError('invalid_request', 'The Host header is missing. HTTP/1.1 requires it.');
    }
    // Before the body is parsed: an error in the body would hide that the path is wrong.
    if (request.is404 || hasEmptyPart(request)) throw nothingThere(request, known);
    const { access = 'account:write', free = false } = request.routeOptions.config;
    if (access === 'public') return null;
    const { id: inboxId } = request.params as { id?: string };
    const { authorization } = request.headers;
    request.session = sessionSecret(request, options.publicUrl);
    const { session } = request;
    return guard.check({ authorization, session, access, inboxId }, (account, key) =>
      admission.admit(account, key, free, (admitted) => {
        request.admitted = admitted;
      }),
    );
  };

  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(SECURITY_HEADERS).header('x-request-id', request.id);
    cors.allow(request, reply);
    if (cors.answerPreflight(request, reply)) return;
    const letIn = (caller: Caller | null): void => {
      request.caller = caller;
      done();
    };
    let caller: MaybePromise<Caller> | null;
    try {
      caller = check(request);
    } catch (error) {
      done(error as Error);
      return;
    }
    if (caller instanceof Promise) caller.then(letIn, done);
    else letIn(caller);
  });
}

/** True where a path parameter is empty: a trailing or doubled slash, which names nothing. */
const hasEmptyPart = ({ params }: FastifyRequest): boolean =>
  Object.entries(params as Record<string, string>).some(([name, value]) => value === '' && name !== '*');

/** Converts query parameters to their types, and makes a body that may be omitted an empty object. */
function readQueries(app: App): void {
  const types = new WeakMap<object, ParameterTypes>();
  app.addHook('preValidation', (request, _reply, done) => {
    const { schema } = request.routeOptions;
    if (!schema) return done();
    if (schema.querystring === undefined) {
      const [unknown] =
        request.routeOptions.config.access === 'public' ? [] : Object.keys(request.query as object);
      if (unknown !== undefined) return done(unexpectedParameter(unknown, schema.body !== undefined));
    } else {
      const known = types.get(schema) ?? parameterTypes(schema.querystring);
      types.set(schema, known);
      readParameters(request.query as Record<string, unknown>, known);
    }
    if (schema.body === undefined) {
      if (request.body === undefined || request.body === null) return done();
      return done(
        new AppError('invalid_request', 'This operation takes no body. Send the request without one.'),
      );
    }
    if (request.body === undefined && isOptionalBody(app, schema.body)) request.body = {};
    done();
  });
}

/** A body without required fields may be omitted. */
function isOptionalBody(app: App, body: unknown): boolean {
  const { $ref } = body as { $ref?: string };
  const schema = app.getSchema($ref?.replace('#', '') ?? '') as { required?: unknown } | undefined;
  return schema !== undefined && schema.required === undefined;
}

function sendError(deps: HttpDeps, error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const expected = toAppError(error, request);
  if (!expected) deps.log.error({ requestId: request.id, err: error }, 'request failed');
  const answer = expected
    ? toProblem(expected, request.id)
    : {
        status: 500,
        headers: {},
        body: problem('internal_error', INTERNAL_ERROR, request.id),
      };
  sendProblem(reply, answer);
}

function answerErrors(app: App, deps: HttpDeps, known: KnownPaths): void {
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler((error, request, reply) => sendError(deps, error, request, reply));
  app.setNotFoundHandler((request) => {
    throw nothingThere(request, known);
  });
}

function observeRequests(app: App, deps: HttpDeps): void {
  const seconds = new RequestSeconds(deps.metrics);
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none';
    const ms = reply.elapsedTime;
    seconds.count(request.method, route, reply.statusCode, ms / 1_000);
    if (!deps.log.isLevelEnabled('info')) return done();
    deps.log.info(
      {
        requestId: request.id,
        method: request.method,
        route,
        status: reply.statusCode,
        ms: Math.round(ms * 10) / 10,
        accountId: request.admitted?.accountId,
      },
      'request',
    );
    done();
  });
}

/** Adds the headers of the account's limits to every response, and closes connections while the server stops. */
function finishAnswers(app: App, { admission, held }: RouteContext): void {
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (request.admitted) {
      admission.settle(request.admitted, reply.statusCode);
      reply.headers(admission.headers(request.admitted));
    }
    if (held.released) reply.header('connection', 'close');
    done();
  });
}
