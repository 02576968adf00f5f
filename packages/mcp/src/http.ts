import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  localhostHostValidation,
  localhostOriginValidation,
  toNodeHandler,
} from '@modelcontextprotocol/node';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { createServer } from './server.ts';

/** Keys contain no other characters. */
const BEARER = /^Bearer ([\w-]+)$/i;
/** The key that `mayfly dev` accepts from its own machine. */
const DEV_KEY = 'dev';
const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;
/** Header fields of browsers and proxies. A request with one was not sent by a program on this machine. */
const FOREIGN_FIELD = /^(origin|sec-fetch-site|forwarded|via|x-forwarded-.*|x-real-ip)$/;

const isFromHere = ({ headers, httpVersion }: IncomingMessage): boolean =>
  httpVersion !== '1.0' && !Object.keys(headers).some((name) => FOREIGN_FIELD.test(name));

/**
 * Serves MCP over HTTP on loopback: stateless, each request with the key of its caller; programs on this
 * machine need none if Mayfly also runs on it. Requests with other hosts and origins are rejected, so that no
 * web page can use it through DNS rebinding. @param port 0 selects a free port
 */
export async function serveHttp({ port, mayflyUrl }: { port: number; mayflyUrl?: string | undefined }) {
  const isLocal = mayflyUrl === undefined || LOOPBACK.test(new URL(mayflyUrl).hostname);
  const handler = createMcpHandler(({ requestInfo }) => {
    const [, apiKey] = BEARER.exec(requestInfo?.headers.get('authorization') ?? '') ?? [];
    // Never the key of the environment, which does not belong to the caller.
    return createServer({ url: mayflyUrl, apiKey: apiKey ?? DEV_KEY });
  });
  const handle = toNodeHandler(handler);
  const isHostAllowed = localhostHostValidation();
  const isOriginAllowed = localhostOriginValidation();
  const server = createHttpServer((request, response) => {
    if (!isHostAllowed(request, response) || !isOriginAllowed(request, response)) return;
    const { authorization } = request.headers;
    const isKnown = authorization === undefined ? isLocal && isFromHere(request) : BEARER.test(authorization);
    if (!isKnown) {
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
