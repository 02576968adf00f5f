import { randomUUID } from 'node:crypto';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify from 'fastify';
import { consolePages } from '../console/pages.ts';
import { sessionRoutes } from '../console/session-api.ts';
import { createAttachmentBytes } from '../messages/bytes/attachment-bytes.ts';
import { createWholeMails } from '../messages/bytes/whole-mails.ts';
import { createHeldDeps } from '../messages/held/held-deps.ts';
import { type Cors, createCors } from './access/cors.ts';
import { createGate, type Gate, guardRequests } from './access/gate.ts';
import { HeldRequests } from './access/held-requests.ts';
import type { App, HttpDeps, HttpOptions, RouteContext } from './context.ts';
import { MAX_BODY_BYTES, MAX_PARAMETER } from './limits.ts';
import { createListener, type Listener } from './listener.ts';
import { parseBodies, readInputs, respondToExpect } from './request/body.ts';
import { collectPaths, unknownPath } from './request/paths.ts';
import { ResponseCache } from './response/etag.ts';
import {
  dropBody,
  finishResponses,
  observeRequests,
  respondWithErrors,
  sendError,
  setCommonHeaders,
} from './response/finish.ts';
import { apiRoutes } from './routes/api.ts';
import { operationRoutes } from './routes/operations.ts';
import { referenceRoutes } from './routes/reference.ts';
import { createValidator } from './validators.ts';

export interface BuiltApp {
  app: App;
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
  if (options.console) {
    sessionRoutes(app, context, options.console.signInCodes);
    consolePages(app, unknownPath);
  }
  return { app, held, listener };
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
    // Or Fastify loads compilers of its own, which take a tenth of the time of a start.
    schemaController: { compilersFactory: { buildValidator: neverBuilt, buildSerializer: neverBuilt } },
    routerOptions: { maxParamLength: MAX_PARAMETER },
    frameworkErrors: (error, request, reply) => {
      setCommonHeaders(request, reply);
      cors.allow(request, reply);
      dropBody(request, reply, () => sendError(deps, error, request, reply));
    },
  }).withTypeProvider<TypeBoxTypeProvider>();
  app.setValidatorCompiler(({ schema }) => createValidator(schema as object));
  const [listener] = made;
  if (!listener) throw new Error('Fastify did not ask for a server');
  return { app, listener };
}
