import { randomUUID } from 'node:crypto';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import {
  CONNECTION_CHECK_MS,
  CONNECTION_LIMITS,
  type ConnectionLimits,
  IDLE_CONNECTION_MS,
  MAX_HEADER_BYTES,
} from '../limits.ts';
import { rawProblem } from '../response/problems.ts';
import { ConnectionLimiter } from './connection-limiter.ts';
import { RequestQueue } from './request-queue.ts';
import { SmallChunks } from './small-chunks.ts';

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
export function createListener(process: RequestListener, given: Partial<ConnectionLimits> = {}): Listener {
  const limits = { ...CONNECTION_LIMITS, ...given };
  const queue = new RequestQueue(limits.maxPipelined, process);
  const chunks = new SmallChunks();
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      requestTimeout: limits.requestTimeoutMs,
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
      limiter.noteRequest(request.socket);
      forgetTypeOfNoBody(request);
      chunks.join(request);
      queue.add(request, response);
    },
  );
  server.setTimeout(IDLE_CONNECTION_MS);
  const limiter = new ConnectionLimiter(server, limits, (socket) => queue.isBusy(socket));
  server.on('connection', (socket) => {
    const rejectedBy = limiter.admit(socket);
    if (rejectedBy === 'address') close(socket, 'TOO_MANY_FROM_ADDRESS');
    if (rejectedBy === 'server') close(socket, 'TOO_MANY_CONNECTIONS');
  });
  // CONNECT requests a proxy and has no path, so Node passes only its socket.
  server.on('connect', (_request, socket: Socket) => {
    socket.on('error', () => socket.destroy());
    close(socket, 'CONNECT');
  });
  return {
    server,
    connections: () => limiter.count,
    answered: () => queue.answered(),
    respondUnparsable(error, socket) {
      // The client has reset the connection: nothing can be sent.
      if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
      else queue.end(socket, () => close(socket, error.code));
    },
  };
}
