import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import { beforeEach } from 'vitest';
import { startedOnce } from '../support/started.ts';

export interface Receiver {
  port: number;
  /** TCP connections accepted so far. */
  connections(): number;
  close(): Promise<void>;
}

async function listen(server: NetServer, host = '127.0.0.1', atPort = 0): Promise<Receiver> {
  let count = 0;
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    count += 1;
    open.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => open.delete(socket));
  });
  server.listen(atPort, host);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => count,
    async close() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Plain TCP: `onSocket` does what it likes with each connection. Without one it is a canary. */
export const startTcp = (
  onSocket: (socket: Socket) => void = (socket) => socket.end(),
  { host = '127.0.0.1', port = 0 } = {},
): Promise<Receiver> => listen(createServer(onSocket), host, port);

export interface ReceivedRequest {
  method: string | undefined;
  path: string | undefined;
  headers: Record<string, string>;
  body: Buffer;
}

export interface HttpReceiver extends Receiver {
  requests: ReceivedRequest[];
}

/** An HTTP server that reads each request whole, notes it, and then calls `respond`. */
export async function startHttp(
  respond: (response: ServerResponse, request: ReceivedRequest) => void = (response) => response.end('ok'),
  server: Server = createHttpServer(),
): Promise<HttpReceiver> {
  const requests: ReceivedRequest[] = [];
  server.on('request', async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = await request.toArray();
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(request.headers)) headers[name] = String(value);
    const received = { method: request.method, path: request.url, headers, body: Buffer.concat(chunks) };
    requests.push(received);
    respond(response, received);
  });
  return { ...(await listen(server)), requests };
}

/** A server of {@link startHttp} for the tests of a file or a `describe`; each of these begins without requests. */
export function useReceiver(respond?: (response: ServerResponse) => void): HttpReceiver {
  const receiver = startedOnce(async () => {
    const started = await startHttp(respond);
    return { ...started, stop: started.close };
  });
  beforeEach(() => {
    receiver.requests.length = 0;
  });
  return receiver;
}
