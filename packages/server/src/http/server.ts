import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerOptions, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify from 'fastify';
import { type Clock, endOf } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { ConnectionLimiter, type LimitedConnection, sourceKey } from '../connection-limiter.ts';
import { consolePages } from '../console/pages.ts';
import { sessionRoutes } from '../console/session-api.ts';
import { oncePerMinute } from '../log.ts';
import { Contents } from '../messages/contents.ts';
import { createHeldDeps } from '../messages/held.ts';
import {
  type AnswerCors,
  createCors,
  createGate,
  finishResponses,
  type Gate,
  guardRequests,
  observeRequests,
  setCommonHeaders,
} from './access/gate.ts';
import { HeldRequests } from './access/held-requests.ts';
import type { App, HttpDeps, RouteContext } from './context.ts';
import {
  CONNECTION_CHECK_MS,
  CONNECTION_LIMITS,
  type ConnectionLimits,
  IDLE_CONNECTION_MS,
  MAX_BODY_BYTES,
  MAX_HEADER_BYTES,
  MAX_PARAMETER,
  MAX_PIPELINED,
} from './limits.ts';
import { createValidator, dropBody, joinChunks, readInputs, respondToExpect } from './request/inputs.ts';
import { collectPaths, unknownPath } from './request/paths.ts';
import { ResponseCache } from './response/etag.ts';
import { rawProblem, respondWithErrors, sendError } from './response/problems.ts';
import { apiRoutes, operationRoutes } from './routes/api.ts';
import { providerRoutes } from './routes/providers.ts';
import { referenceRoutes } from './routes/reference.ts';

export async function createHttpServer(options: Config, deps: HttpDeps) {
  const built = await buildApp(options, deps);
  const { app, held, listener } = built;
  let second: Server | undefined;
  return {
    built,
    async start(): Promise<{ port: number }> {
      const { httpHost, httpPort } = options;
      const isLocalhost = httpHost === 'localhost';
      await app.listen({ host: isLocalhost ? '127.0.0.1' : httpHost, port: httpPort });
      const { port } = app.server.address() as AddressInfo;
      if (isLocalhost) second = await alsoOnIpv6Loopback(app.server, port);
      const report = oncePerMinute(deps.clock, (err, count) =>
        deps.log.error({ err, count }, 'HTTP connections were not accepted'),
      );
      for (const server of [app.server, second]) server?.on('error', report);
      return { port };
    },
    /** Stops listening, ends waits and streams, gives other requests `graceMs`. May be called before start(). */
    async stop(graceMs: number): Promise<void> {
      held.release();
      second?.close();
      const closed = app.close();
      // After the last response, close idle connections and those with an incomplete request.
      void listener.answered().then(() => app.server.closeAllConnections());
      await endOf(closed, graceMs, deps.clock);
      app.server.closeAllConnections();
      await closed;
    },
  };
}

/** Also accepts IPv6 connections to `localhost`. @returns undefined without IPv6, or if the port is in use there */
async function alsoOnIpv6Loopback(server: Server, port: number): Promise<Server | undefined> {
  const second = createTcpServer((socket) => server.emit('connection', socket));
  try {
    await once(second.listen(port, '::1'), 'listening');
    return second;
  } catch {
    return undefined;
  }
}

export type BuiltApp = Awaited<ReturnType<typeof buildApp>>;

/** @param gate authentication and limits; a benchmark replaces them */
export async function buildApp(options: Config, deps: HttpDeps, gate: Gate = createGate(deps)) {
  const answerCors = createCors(options.corsOrigins);
  const listener: Listener = createListener(
    (request, response) => app.routing(request, response),
    deps.clock,
    {
      maxConnectionsPerAddress: options.httpMaxConnectionsPerAddress,
      ...deps.limits,
    },
  );
  const app = createFastify(listener, deps, answerCors);
  const held = new HeldRequests(gate.guard, deps);
  const context: RouteContext = {
    options,
    deps,
    held,
    heldDeps: createHeldDeps(deps, async (...asked) => gate.guard.findInbox(...asked)),
    contents: new Contents(deps),
    responses: new ResponseCache(),
    dialectSecret: randomUUID(),
    ...gate,
  };

  const known = collectPaths(app);
  respondToExpect(app);
  guardRequests(app, context, answerCors, known);
  readInputs(app);
  respondWithErrors(app, deps, known);
  observeRequests(app, deps);
  finishResponses(app, context);
  operationRoutes(app, context);
  referenceRoutes(app);
  apiRoutes(app, context);
  providerRoutes(app, context);
  if (options.dialect !== 'off') {
    const { dialectRoutes } = await import('./routes/dialects.ts');
    dialectRoutes(app, context, options.dialect);
  }
  if (options.console === 'on') {
    sessionRoutes(app, context);
    consolePages(app, unknownPath);
  }
  return { app, context, held, listener };
}

function neverBuilt(): never {
  throw new Error('Compilers of validators and serializers are set, not built');
}

function createFastify(listener: Listener, deps: HttpDeps, answerCors: AnswerCors): App {
  const app = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    bodyLimit: MAX_BODY_BYTES,
    serverFactory: () => listener.server,
    clientErrorHandler: (error, socket) => listener.respondUnparsable(error, socket),
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // Without these, Fastify loads its own compilers, which takes a tenth of the startup time.
    schemaController: { compilersFactory: { buildValidator: neverBuilt, buildSerializer: neverBuilt } },
    routerOptions: { maxParamLength: MAX_PARAMETER },
    frameworkErrors: (error, request, reply) => {
      setCommonHeaders(request, reply);
      if (answerCors(request, reply)) return;
      dropBody(request);
      sendError(deps, error, reply);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.setValidatorCompiler(({ schema }) => createValidator(schema as object));
  return app;
}

type Exchange = [IncomingMessage, ServerResponse];

/** Processes pipelined requests (RFC 9112 section 9.3.2) one by one, to hold one response in memory. */
class HttpConnection implements LimitedConnection {
  readonly source: string;
  readonly socket: Socket;
  readonly #process: RequestListener;
  readonly #count: (change: 1 | -1) => void;
  #current: Exchange | null = null;
  #waiting: Exchange[] = [];
  #afterwards: (() => void) | null = null;

  /** @param count called with 1 for a new request, and with -1 when its response has ended */
  constructor(socket: Socket, process: RequestListener, count: (change: 1 | -1) => void) {
    this.socket = socket;
    this.source = sourceKey(socket.remoteAddress);
    this.#process = process;
    this.#count = count;
  }

  get isIdle(): boolean {
    return this.#current === null;
  }

  makeRoom(): void {
    this.socket.destroy();
  }

  add(request: IncomingMessage, response: ServerResponse): void {
    if (this.#afterwards || !this.socket.writable) return;
    if (this.#current === null) this.#begin([request, response]);
    else if (this.#waiting.length < MAX_PIPELINED) this.#waiting.push([request, response]);
    else {
      this.#waiting = [];
      this.socket.destroy();
    }
  }

  /** Ends a connection whose input is not valid HTTP. @param respond called after the response in progress */
  end(respond: () => void): void {
    const [request, response] = this.#current ?? [];
    if (request?.complete) {
      this.#afterwards = respond;
      this.#waiting = [];
    } else if (response?.headersSent) this.socket.destroy();
    else respond();
  }

  #begin(exchange: Exchange): void {
    const [request, response] = exchange;
    this.#current = exchange;
    this.#count(1);
    response.once('close', () => {
      this.#current = null;
      this.#next();
      this.#count(-1);
    });
    this.#process(request, response);
  }

  #next(): void {
    // No response can follow one with `Connection: close`.
    if (!this.socket.writable) this.#waiting = [];
    else if (this.#afterwards) this.#afterwards();
    else {
      const next = this.#waiting.shift();
      if (next) this.#begin(next);
    }
  }
}

/** Limit of requests of one address in one turn of the event loop. Even 1,000 users behind it send fewer. */
const MAX_REQUESTS = 500;
/** What a body chunk adds to the count of requests: it takes an eighth of the CPU time of a request. */
const REQUESTS_PER_CHUNK = 1 / 8;

// In one turn, Node reads up to 64 KiB (3,600 requests) per connection and accepts one new connection.
// Above the limit, connections of an address pause at least as long as the turn took, so others are accepted.
function createTurnLimit(limiter: ConnectionLimiter<HttpConnection>, clock: Clock) {
  const parsed = new Map<string, number>();
  const paused = new Map<string, HttpConnection[]>();

  const pause = (source: string): void => {
    const connections = [...limiter.of(source)].filter(({ socket }) => !socket.isPaused());
    paused.set(source, connections);
    for (const { socket } of connections) socket.pause();
  };
  const endTurn = (ms: number): void => {
    for (const [source, requests] of parsed) {
      if (requests < MAX_REQUESTS) continue;
      // Node's timers count from the start of the turn, so the sleep includes the `ms` that the turn took.
      void clock.sleep(ms * (1 + requests / MAX_REQUESTS)).then(() => {
        for (const { socket } of paused.get(source) ?? []) socket.resume();
        paused.delete(source);
      });
    }
    parsed.clear();
  };
  return {
    opened(connection: HttpConnection): void {
      const others = paused.get(connection.source);
      if (!others) return;
      others.push(connection);
      // Do not pause now: Node starts to read after this tick. By then, the address may have been resumed.
      setImmediate(() => {
        if (paused.get(connection.source) === others) connection.socket.pause();
      });
    },
    count({ source }: HttpConnection, requests: 1 | typeof REQUESTS_PER_CHUNK): void {
      if (parsed.size === 0) {
        const begunAt = clock.monotonic();
        setImmediate(() => endTurn(clock.monotonic() - begunAt));
      }
      const sum = (parsed.get(source) ?? 0) + requests;
      parsed.set(source, sum);
      if (sum >= MAX_REQUESTS && !paused.has(source)) pause(source);
    },
  };
}

// Not by `import`, which also loads Node's fetch: 2 MB.
const { createServer } = createRequire(import.meta.url)('node:http') as typeof import('node:http');

export type Listener = ReturnType<typeof createListener>;

function close(socket: Socket, reason: string | undefined): void {
  if (socket.writable) socket.write(rawProblem(reason, randomUUID()));
  socket.destroySoon();
}

/** Removes `Content-Type` if there is no body (RFC 9112 section 6.3): Fastify would wait for it forever. */
function forgetTypeOfNoBody({ headers }: IncomingMessage): void {
  const isWithoutBody = headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
  if (isWithoutBody) delete headers['content-type'];
}

const optionsOf = ({ requestTimeoutMs, headersTimeoutMs, keepAliveMs }: ConnectionLimits): ServerOptions => ({
  maxHeaderSize: MAX_HEADER_BYTES,
  requestTimeout: requestTimeoutMs,
  headersTimeout: headersTimeoutMs,
  keepAliveTimeout: keepAliveMs,
  connectionsCheckingInterval: Math.min(CONNECTION_CHECK_MS, headersTimeoutMs, requestTimeoutMs),
  // `assertReadable` checks the Host header instead, and its error is a problem document.
  requireHostHeader: false,
  // Reduces the CPU time of a GET by a quarter.
  optimizeEmptyRequests: true,
});

export function createListener(
  process: RequestListener,
  clock: Clock,
  given: Partial<ConnectionLimits> = {},
) {
  const limits = { ...CONNECTION_LIMITS, ...given };
  const limiter = new ConnectionLimiter<HttpConnection>(limits);
  const turn = createTurnLimit(limiter, clock);
  const connections = new WeakMap<Socket, HttpConnection>();
  let open = 0;
  let whenNone = (): void => undefined;
  const count = (change: 1 | -1): void => {
    open += change;
    if (open === 0) whenNone();
  };
  const server = createServer(optionsOf(limits), (request, response) => {
    const connection = connections.get(request.socket);
    if (!connection) return;
    limiter.used(connection);
    turn.count(connection, 1);
    forgetTypeOfNoBody(request);
    joinChunks(request, () => turn.count(connection, REQUESTS_PER_CHUNK));
    connection.add(request, response);
  });
  server.setTimeout(IDLE_CONNECTION_MS);
  server.on('connection', (socket) => {
    const connection = new HttpConnection(socket, process, count);
    const rejectedBy = limiter.enter(connection);
    if (rejectedBy === 'address') close(socket, 'TOO_MANY_FROM_ADDRESS');
    if (rejectedBy === 'server') close(socket, 'TOO_MANY_CONNECTIONS');
    if (rejectedBy) return;
    connections.set(socket, connection);
    socket.once('close', () => limiter.leave(connection));
    turn.opened(connection);
  });
  server.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => socket.destroy());
    close(socket, 'CONNECT');
  });
  return {
    server,
    connections: () => limiter.count,
    answered: (): Promise<void> =>
      new Promise((resolve) => {
        whenNone = resolve;
        if (open === 0) resolve();
      }),
    respondUnparsable(error: NodeJS.ErrnoException, socket: Socket): void {
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      else connections.get(socket)?.end(() => close(socket, error.code));
    },
  };
}
