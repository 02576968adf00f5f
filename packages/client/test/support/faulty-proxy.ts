import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a proxy does to a request. */
export type Fault =
  | 'pass'
  /** Closes the connection before the request is forwarded. */
  | 'reset-before'
  /** Forwards it, and closes the connection instead of the response. */
  | 'reset-after'
  /** Sends half of the response and closes the connection. */
  | 'cut-body'
  /** Closes the connection after a time, as a proxy with a limit for held requests. */
  | 'cut-held'
  | '502'
  /** Forwards it and responds 504 after a time, whatever the server says. */
  | '504-held'
  /** Forwards it twice and returns the second response. */
  | 'duplicate'
  | 'delay';

export interface FaultyProxy {
  url: string;
  /** How often each fault was applied. */
  applied: Map<Fault, number>;
  close(): Promise<void>;
}

/** Milliseconds after which held requests are cut; a real proxy takes 5,000 to 60,000. */
const CUT_AFTER_MS = 60;
const DELAY_MS = 20;

/** A reverse proxy on loopback that does to each request what `next` says. */
export async function faultyProxy(target: string, next: () => Fault): Promise<FaultyProxy> {
  const applied = new Map<Fault, number>();
  const { hostname, port } = new URL(target);

  const forward = (
    incoming: IncomingMessage,
    body: Buffer,
  ): Promise<{ head: IncomingMessage; bytes: Buffer }> =>
    new Promise((resolve, reject) => {
      const { method, url, headers } = incoming;
      const upstream = request({ hostname, port, method, path: url, headers }, (head) => {
        const chunks: Buffer[] = [];
        head.on('data', (chunk) => chunks.push(chunk));
        head.on('end', () => resolve({ head, bytes: Buffer.concat(chunks) }));
        head.on('error', reject);
      });
      const close = () => upstream.destroy();
      incoming.socket.once('close', close);
      upstream.on('close', () => incoming.socket.off('close', close));
      upstream.on('error', reject);
      upstream.end(body);
    });

  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const fault = next();
    applied.set(fault, (applied.get(fault) ?? 0) + 1);
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    if (fault === 'reset-before') return void incoming.socket.destroy();
    if (fault === '502')
      return void response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>');
    if (fault === 'delay') await new Promise((resolve) => setTimeout(resolve, DELAY_MS));
    if (fault === 'duplicate') await forward(incoming, body);
    const timer = setTimeout(() => respond(fault, incoming, response), CUT_AFTER_MS);
    if (fault !== 'cut-held' && fault !== '504-held') clearTimeout(timer);
    try {
      const { head, bytes } = await forward(incoming, body);
      respond(fault, incoming, response, head, bytes);
    } finally {
      clearTimeout(timer);
    }
  }

  /** @param head undefined when the server has not responded yet */
  function respond(
    fault: Fault,
    incoming: IncomingMessage,
    response: ServerResponse,
    head?: IncomingMessage,
    bytes: Buffer = Buffer.alloc(0),
  ): void {
    const destroy = () => incoming.socket.destroy();
    if (response.headersSent) return;
    if (fault === 'reset-after' || (fault === 'cut-held' && !head)) return void destroy();
    if (fault === '504-held') return void response.writeHead(504).end('Gateway Timeout');
    response.writeHead(head?.statusCode ?? 500, head?.headers);
    if (fault !== 'cut-body') return void response.end(bytes);
    response.write(bytes.subarray(0, bytes.length / 2), destroy);
  }

  const server = createServer((incoming, response) => {
    // A client that gave up, or an upstream that closed: both are what this proxy is for.
    handle(incoming, response).catch(() => incoming.socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    applied,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
