import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { Logger } from '../log.ts';

// An `import` of node:http also loads Node's fetch: 2 MB.
const { createServer } = createRequire(import.meta.url)('node:http') as typeof import('node:http');

/** A few monitoring systems, with a connection or two each. */
const MAX_CONNECTIONS = 20;
/** Requests have no body, milliseconds. */
const REQUEST_TIMEOUT_MS = 10_000;

/** @param port 0 selects a free port */
export function createMetricsServer(
  { host, port }: { host: string; port: number },
  { registry, log }: { registry: Registry; log: Logger },
) {
  const respond = (response: ServerResponse, status: number, type: string, body: string): void => {
    response
      .writeHead(status, {
        'content-type': type,
        'content-length': Buffer.byteLength(body),
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
      .end(body);
  };
  const text = 'text/plain; charset=utf-8';
  const handle = async ({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (url.split('?', 1)[0] !== '/metrics')
      return respond(response, 404, text, 'The metrics are at /metrics.\n');
    if (method !== 'GET' && method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return respond(response, 405, text, 'Use GET.\n');
    }
    try {
      respond(response, 200, registry.contentType, await registry.metrics());
    } catch (err) {
      log.error({ err }, 'The metrics could not be collected');
      respond(response, 500, text, 'The metrics could not be collected. The log of the server says why.\n');
    }
  };
  const server = createServer(
    { headersTimeout: REQUEST_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => void handle(request, response),
  );
  server.maxConnections = MAX_CONNECTIONS;
  return {
    /** @throws Error of the system call when the port cannot be opened */
    start: (): Promise<{ port: number }> =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve({ port: (server.address() as AddressInfo).port });
        });
      }),
    /** Closes open connections. */
    stop: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
