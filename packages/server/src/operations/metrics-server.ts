import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import type { Registry } from 'prom-client';
import type { Logger } from '../log.ts';

// Not by `import`, which also loads Node's fetch: 2 MB.
const { createServer } = createRequire(import.meta.url)('node:http') as typeof import('node:http');

const MAX_CONNECTIONS = 20;
const REQUEST_TIMEOUT_MS = 10_000;

export function createMetricsServer(
  { host, port }: { host: string; port: number },
  { registry, log }: { registry: Registry; log: Logger },
) {
  const handle = async ({ method, url = '' }: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader('cache-control', 'no-store').setHeader('x-content-type-options', 'nosniff');
    if (url.split('?', 1)[0] !== '/metrics') return void response.writeHead(404).end();
    if (method !== 'GET' && method !== 'HEAD')
      return void response.writeHead(405, { allow: 'GET, HEAD' }).end();
    try {
      const text = await registry.metrics();
      response.writeHead(200, { 'content-type': registry.contentType }).end(text);
    } catch (err) {
      log.error({ err }, 'The metrics could not be collected');
      response.writeHead(500).end();
    }
  };
  const server = createServer(
    { headersTimeout: REQUEST_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS },
    (request, response) => void handle(request, response),
  );
  server.maxConnections = MAX_CONNECTIONS;
  return {
    async start(): Promise<{ port: number }> {
      await once(server.listen(port, host), 'listening');
      return { port: (server.address() as AddressInfo).port };
    },
    stop: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
