import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { oncePerMinute } from '../log.ts';
import { type BuiltApp, buildApp } from './app.ts';
import type { HttpDeps, HttpOptions } from './context.ts';

export interface HttpServer {
  start(): Promise<{ port: number }>;
  readonly heldRequests: number;
  readonly connections: number;
  /** Ends held requests whose API key was revoked or expired. */
  recheckHeld(): Promise<void>;
  /** Stops listening, ends held requests, and waits for others until the deadline. May be called twice or unstarted. */
  stop(deadlineMs: number): Promise<void>;
}

/** Creates the server; nothing is opened before `start`. */
export function createHttpServer(options: HttpOptions, deps: HttpDeps): HttpServer {
  let built: BuiltApp | undefined;
  let second: Server | undefined;
  return {
    async start() {
      built = await buildApp(options, deps);
      const { app } = built;
      const isLocalhost = options.host === 'localhost';
      await app.listen({ host: isLocalhost ? '127.0.0.1' : options.host, port: options.port });
      const { port } = app.server.address() as AddressInfo;
      if (isLocalhost) second = await alsoOnIpv6Loopback(app.server, port);
      // For example too many open files.
      const report = oncePerMinute(deps.clock, (err, count) =>
        deps.log.error({ err, count }, 'HTTP connections were not accepted'),
      );
      for (const server of [app.server, second]) server?.on('error', report);
      return { port };
    },
    get heldRequests() {
      return built?.held.count ?? 0;
    },
    get connections() {
      return built?.listener.connections() ?? 0;
    },
    async recheckHeld() {
      await built?.held.recheck();
    },
    async stop(deadlineMs) {
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
