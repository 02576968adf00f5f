import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { createServer } from './server.ts';

/** Keys have no other characters. */
const BEARER = /^Bearer ([\w-]+)$/i;

/**
 * Serves MCP over HTTP on loopback: stateless, each request with the key of its caller. Requests of other hosts
 * and origins are refused, so that no web page reaches it through DNS rebinding.
 * @param port 0 takes a free one
 */
export async function serveHttp({ port, mayflyUrl }: { port: number; mayflyUrl?: string | undefined }) {
  const handler = createMcpHandler(({ requestInfo }) => {
    const [, apiKey] = BEARER.exec(requestInfo?.headers.get('authorization') ?? '') ?? [];
    return createServer({ url: mayflyUrl, apiKey });
  });
  const handle = toNodeHandler(handler);
  const isHostAllowed = localhostHostValidation();
  const isOriginAllowed = localhostOriginValidation();
  const server = createHttpServer((request, response) => {
    if (!isHostAllowed(request, response) || !isOriginAllowed(request, response)) return;
    if (!BEARER.test(request.headers.authorization ?? '')) {
      response.writeHead(401, { 'www-authenticate': 'Bearer', 'content-type': 'text/plain' });
      response.end('Send the Mayfly API key: Authorization: Bearer mfk_…\n');
      return;
    }
    // Every request of a server has a method and a URL.
    void handle(request as Parameters<typeof handle>[0], response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close: async () => {
      await handler.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}
