import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { Clock } from '../../clock.ts';
import { ConnectionLimiter } from '../../connection-limiter.ts';
import {
  CONNECTION_CHECK_MS,
  CONNECTION_LIMITS,
  type ConnectionLimits,
  IDLE_CONNECTION_MS,
  MAX_HEADER_BYTES,
} from '../limits.ts';
import { joinChunks } from '../request/chunked-body.ts';
import { rawProblem } from '../response/problems.ts';
import { HttpConnection, type Requests } from './http-connection.ts';
import { TurnLimit } from './turn-limit.ts';

// An `import` of node:http reads everything that it exports, and so loads Node's fetch: 2 MB.
const { createServer } = createRequire(import.meta.url)('node:http') as typeof import('node:http');

/** Node's HTTP server with the limits of connections that all routes share. */
export interface Listener {
  server: Server;
  /** How many connections are open. */
  connections(): number;
  /** Resolves as soon as no request is without its whole response. */
  answered(): Promise<void>;
  /** Responds on a socket to bytes that are not HTTP, and to requests that do not arrive in time. */
  respondUnparsable(error: NodeJS.ErrnoException, socket: Socket): void;
}

/** Writes a last response, where the client still takes one, and closes the connection without waiting for its end. */
function close(socket: Socket, reason: string | undefined): void {
  if (socket.writable) socket.write(rawProblem(reason, randomUUID()));
  socket.destroySoon();
}

/**
 * Many clients send a `Content-Type` with requests that have no body (RFC 9112 section 6.3). Fastify would wait for
 * the end of a body, which has no stream here and so never ends.
 */
function forgetTypeOfNoBody({ headers }: IncomingMessage): void {
  const isWithoutBody = headers['content-length'] === undefined && headers['transfer-encoding'] === undefined;
  if (isWithoutBody) delete headers['content-type'];
}

/** Creates the server; it does not listen yet. @param process handles one request */
export function createListener(
  process: RequestListener,
  clock: Clock,
  given: Partial<ConnectionLimits> = {},
): Listener {
  const limits = { ...CONNECTION_LIMITS, ...given };
  const limiter = new ConnectionLimiter<HttpConnection>(limits);
  const turn = new TurnLimit(limiter, clock);
  const connections = new WeakMap<Socket, HttpConnection>();
  let open = 0;
  let whenNone = (): void => undefined;
  const requests: Requests = {
    process,
    maxPipelined: limits.maxPipelined,
    count(change) {
      open += change;
      if (open === 0) whenNone();
    },
  };
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      requestTimeout: limits.requestTimeoutMs,
      headersTimeout: limits.headersTimeoutMs,
      keepAliveTimeout: limits.keepAliveMs,
      connectionsCheckingInterval: Math.min(
        CONNECTION_CHECK_MS,
        limits.headersTimeoutMs,
        limits.requestTimeoutMs,
      ),
      // The check is ours, with a problem document as the response.
      requireHostHeader: false,
      // Requests without a body get no stream for it: a quarter less CPU time for a GET.
      optimizeEmptyRequests: true,
    },
    (request, response) => {
      const connection = connections.get(request.socket);
      if (!connection) return;
      limiter.used(connection);
      turn.request(connection);
      forgetTypeOfNoBody(request);
      joinChunks(request, () => turn.chunk(connection));
      connection.add(request, response);
    },
  );
  server.setTimeout(IDLE_CONNECTION_MS);
  server.on('connection', (socket) => {
    const connection = new HttpConnection(socket, requests);
    const rejectedBy = limiter.enter(connection);
    if (rejectedBy === 'address') close(socket, 'TOO_MANY_FROM_ADDRESS');
    if (rejectedBy === 'server') close(socket, 'TOO_MANY_CONNECTIONS');
    if (rejectedBy) return;
    connections.set(socket, connection);
    socket.once('close', () => limiter.leave(connection));
    turn.opened(connection);
  });
  // CONNECT requests a proxy and has no path, so Node passes only its socket.
  server.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => socket.destroy());
    close(socket, 'CONNECT');
  });
  return {
    server,
    connections: () => limiter.count,
    answered: () =>
      new Promise((resolve) => {
        whenNone = resolve;
        if (open === 0) resolve();
      }),
    respondUnparsable(error, socket) {
      // The client has reset the connection: nothing can be sent.
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      else connections.get(socket)?.end(() => close(socket, error.code));
    },
  };
}
