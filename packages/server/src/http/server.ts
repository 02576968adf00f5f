import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify from 'fastify';
import { consolePages } from '../console/pages.ts';
import { sessionRoutes } from '../console/session-api.ts';
import { oncePerMinute } from '../log.ts';
import { createAttachmentBytes } from '../messages/bytes/attachment-bytes.ts';
import { createWholeMails } from '../messages/bytes/whole-mails.ts';
import { createHeldDeps } from '../messages/held/held-deps.ts';
import {
  type Cors,
  createCors,
  createGate,
  finishResponses,
  type Gate,
  guardRequests,
  observeRequests,
  setCommonHeaders,
} from './access/gate.ts';
import { HeldRequests } from './access/held-requests.ts';
import type { App, HttpDeps, HttpOptions, RouteContext } from './context.ts';
import { MAX_BODY_BYTES, MAX_PARAMETER } from './limits.ts';
import { createListener, type Listener } from './listener.ts';
import { createValidator, dropBody, parseBodies, readInputs, respondToExpect } from './request/inputs.ts';
import { collectPaths, unknownPath } from './request/paths.ts';
import { ResponseCache } from './response/etag.ts';
import { respondWithErrors, sendError } from './response/problems.ts';
import { apiRoutes, operationRoutes } from './routes/api.ts';
import { providerRoutes } from './routes/providers.ts';
import { referenceRoutes } from './routes/reference.ts';

/** Creates the server; nothing is opened before `start`. */
export function createHttpServer(options: HttpOptions, deps: HttpDeps) {
  let built: BuiltApp | undefined;
  let second: Server | undefined;
  return {
    async start(): Promise<{ port: number }> {
      built = await buildApp(options, deps);
      const { app } = built;
      const isLocalhost = options.host === 'localhost';
      await app.listen({ host: isLocalhost ? '127.0.0.1' : options.host, port: options.port });
      const { port } = app.server.address() as AddressInfo;
      if (isLocalhost) second = await alsoOnIpv6Loopback(app.server, port);
      // Errors of accepting a connection, for example too many open files.
      const report = oncePerMinute(deps.clock, (err, count) =>
        deps.log.error({ err, count }, 'HTTP connections were not accepted'),
      );
      for (const server of [app.server, second]) server?.on('error', report);
      return { port };
    },
    get heldRequests() {
      return built?.held.count ?? 0;
    },
    /** After `start`: what other listeners translate to. */
    get built() {
      return built;
    },
    get connections() {
      return built?.listener.connections() ?? 0;
    },
    /** Ends held requests whose API key was revoked or expired. */
    async recheckHeld(): Promise<void> {
      await built?.held.recheck();
    },
    /** Stops listening, ends held requests, and gives others `deadlineMs` to finish. May be called twice, and before start(). */
    async stop(deadlineMs: number): Promise<void> {
      if (!built) return;
      const { app, held, listener } = built;
      built = undefined;
      held.release();
      second?.close();
      const done = new AbortController();
      const closed = app.close().then(() => done.abort());
      // Remaining connections are idle or have sent part of a request; they would delay the close.
      void listener.answered().then(() => app.server.closeAllConnections());
      await deps.clock.sleep(deadlineMs, done.signal);
      app.server.closeAllConnections();
      await closed;
    },
  };
}

/** Accepts `localhost` on IPv6 as well; undefined on a machine without IPv6, or if the port is in use there. */
async function alsoOnIpv6Loopback(server: Server, port: number): Promise<Server | undefined> {
  const second = createServer((socket) => server.emit('connection', socket));
  try {
    await once(second.listen(port, '::1'), 'listening');
    return second;
  } catch {
    return undefined;
  }
}

export interface BuiltApp {
  app: App;
  context: RouteContext;
  held: HeldRequests;
  listener: Listener;
}

/** Builds the app with all its routes. @param gate replaced by the benchmark that measures its cost */
export async function buildApp(
  options: HttpOptions,
  deps: HttpDeps,
  gate: Gate = createGate(deps),
): Promise<BuiltApp> {
  const cors = createCors(options.corsOrigins ?? []);
  const { app, listener } = createFastify(options, deps, cors);
  const held = new HeldRequests(gate.guard, deps);
  const reading = {
    messages: () => deps.store.messages,
    parsing: () => deps.parsing,
    now: () => deps.clock.now(),
  };
  const context: RouteContext = {
    options,
    deps,
    held,
    heldDeps: createHeldDeps(deps, async (...asked) => gate.guard.findInbox(...asked)),
    attachmentBytes: createAttachmentBytes(reading),
    wholeMails: createWholeMails(reading),
    responses: new ResponseCache(),
    dialectSecret: randomUUID(),
    ...gate,
  };

  const known = collectPaths(app);
  parseBodies(app);
  respondToExpect(app);
  guardRequests(app, context, cors, known);
  readInputs(app);
  respondWithErrors(app, deps, known);
  observeRequests(app, deps);
  finishResponses(app, context);
  operationRoutes(app, context);
  referenceRoutes(app);
  apiRoutes(app, context);
  providerRoutes(app, context);
  if (options.dialect && options.dialect !== 'off') {
    const { dialectRoutes } = await import('./routes/dialects.ts');
    dialectRoutes(app, context, options.dialect);
  }
  if (options.console) {
    sessionRoutes(app, context, options.console.signInCodes);
    consolePages(app, unknownPath);
  }
  return { app, context, held, listener };
}

function neverBuilt(): never {
  throw new Error('Compilers of validators and serializers are set, not built');
}

function createFastify(
  { limits }: HttpOptions,
  deps: HttpDeps,
  cors: Cors,
): { app: App; listener: Listener } {
  const made: Listener[] = [];
  const app = fastify({
    logger: false,
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    bodyLimit: MAX_BODY_BYTES,
    serverFactory(process) {
      const listener = createListener(process, deps.clock, limits);
      made.push(listener);
      return listener.server;
    },
    clientErrorHandler: (error, socket) => made[0]?.respondUnparsable(error, socket),
    forceCloseConnections: 'idle',
    // A request that arrives while the server stops is processed; then its connection is closed.
    return503OnClosing: false,
    // Prevents that Fastify loads compilers of its own, which take a tenth of the time of a start.
    schemaController: { compilersFactory: { buildValidator: neverBuilt, buildSerializer: neverBuilt } },
    routerOptions: { maxParamLength: MAX_PARAMETER },
    frameworkErrors: (error, request, reply) => {
      setCommonHeaders(request, reply);
      cors.allow(request, reply);
      dropBody(request);
      sendError(deps, error, request, reply);
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.setValidatorCompiler(({ schema }) => createValidator(schema as object));
  const [listener] = made;
  if (!listener) throw new Error('Fastify did not ask for a server');
  return { app, listener };
}
