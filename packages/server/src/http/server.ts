import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type BuiltApp, buildApp } from './app.ts';
import type { HttpDeps, HttpOptions } from './context.ts';
import { MAX_CONNECTIONS } from './limits.ts';

export type { HttpDeps, HttpOptions } from './context.ts';

/** The HTTP listener. */
export interface HttpServer {
  /** Resolves when it listens. */
  start(): Promise<{ port: number }>;
  /** Waits and streams that are held open now. */
  readonly heldRequests: number;
  /** Ends held requests whose API key is not good any more. */
  recheckHeld(): Promise<void>;
  /**
   * Stops listening, ends held requests with a normal answer, lets the others finish, and cuts what is
   * left after the deadline. Safe to call twice, and before `start`.
   */
  stop(deadlineMs: number): Promise<void>;
}

/** Constructs it; nothing happens before `start`. */
export function createHttpServer(options: HttpOptions, deps: HttpDeps): HttpServer {
  let built: BuiltApp | undefined;
  let requests: OpenRequests | undefined;
  return {
    async start() {
      built = await buildApp(options, deps);
      const { app } = built;
      app.server.maxConnections = MAX_CONNECTIONS;
      requests = watchRequests(app.server);
      await app.listen({ host: options.host, port: options.port });
      const { port } = app.server.address() as AddressInfo;
      return { port };
    },
    get heldRequests() {
      return built?.held.count ?? 0;
    },
    async recheckHeld() {
      await built?.held.recheck();
    },
    async stop(deadlineMs) {
      if (!built || !requests) return;
      const { app, held } = built;
      const { answered } = requests;
      built = undefined;
      held.release();
      const done = new AbortController();
      const closed = app.close().then(() => done.abort());
      // What is left then is kept alive, half asked or silent, and would hold the listener open.
      void answered().then(() => app.server.closeAllConnections());
      await deps.clock.sleep(deadlineMs, done.signal);
      app.server.closeAllConnections();
      await closed;
    },
  };
}

interface OpenRequests {
  /** Resolves as soon as no request is without its whole answer. */
  answered(): Promise<void>;
}

function watchRequests(server: Server): OpenRequests {
  let open = 0;
  let tell: (() => void) | undefined;
  server.on('request', (_request, response) => {
    open++;
    response.once('close', () => {
      open--;
      if (open === 0) tell?.();
    });
  });
  return {
    answered: () =>
      new Promise((resolve) => {
        tell = resolve;
        if (open === 0) resolve();
      }),
  };
}
