import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../context.ts';
import { JSON_TYPE } from '../openapi/responses.ts';
import { contentTag, isFresh } from '../response/etag.ts';

export const OPENAPI_FILE = new URL('../../../../../openapi.json', import.meta.url);

const PAGE_FOLDER = new URL('../../../reference/', import.meta.url);
const PAGE = 'index.html';
const PAGE_FILES: Record<string, string> = {
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'mayfly.svg': 'image/svg+xml',
};
/** The page loads its own files only, and sends requests to its own server. */
const CSP = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** A response that does not change while the server runs, so all requests share its bytes. */
interface StaticResponse {
  headers: Record<string, string>;
  body: Buffer;
  /** The body compressed with gzip; null if compression is not worth it. */
  zipped: Buffer | null;
  tag: string;
}

/** Smaller bodies fit into one packet without compression. */
const MIN_COMPRESSED_BYTES = 1_024;

/** @param headers with `content-type`; names in lower case */
async function prepare(headers: Record<string, string>, body: Buffer): Promise<StaticResponse> {
  // Loaded on first use: it takes memory that most servers never need.
  const { gzip } = await import('node:zlib');
  const zipped = body.length < MIN_COMPRESSED_BYTES ? null : await promisify(gzip)(body);
  return { headers, body, zipped, tag: contentTag(body) };
}

const allowsGzip = (accepted = ''): boolean =>
  accepted.split(',').some((one) => /^\s*(?:x-gzip|gzip|\*)\s*(?:;\s*q=(?:1|0\.\d*[1-9])|$)/i.test(one));

function send(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { headers: own, body, zipped, tag }: StaticResponse,
): FastifyReply {
  reply.headers(own);
  if (zipped) {
    const vary = reply.getHeader('vary');
    reply.header('vary', vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`);
  }
  reply.header('etag', tag);
  if (isFresh(headers['if-none-match'], tag)) return reply.code(304).send();
  if (!zipped || !allowsGzip(headers['accept-encoding'])) return reply.send(body);
  return reply.header('content-encoding', 'gzip').send(zipped);
}

/** The API description as OpenAPI, the reference page, and a guide. Each response is prepared once. */
export function referenceRoutes(app: App): void {
  const serve = (path: string, type: string, read: () => Promise<Buffer>, headers = {}): void => {
    let prepared: Promise<StaticResponse> | undefined;
    app.get(path, { config: { access: 'public' } }, async (request, reply) => {
      prepared ??= read().then((body) => prepare({ ...headers, 'content-type': type }, body));
      return send(request, reply, await prepared);
    });
  };
  serve('/openapi.json', JSON_TYPE, () => readFile(OPENAPI_FILE));
  const file = (name: string) => readFile(new URL(name, PAGE_FOLDER));
  // llmstxt.org. Tests compare its paths with the API description, and its steps with docs/agents.md.
  serve('/llms.txt', 'text/plain; charset=utf-8', () => file('llms.txt'));
  const page = (path: string, read: () => Promise<Buffer>) =>
    serve(path, 'text/html; charset=utf-8', read, { 'content-security-policy': CSP });
  page('/docs', () => file(PAGE));
  // Below /docs/ a relative URL begins in that folder, so the page must not repeat its name.
  page('/docs/', async () => Buffer.from(String(await file(PAGE)).replaceAll('="docs/static/', '="static/')));
  for (const [name, type] of Object.entries(PAGE_FILES))
    serve(`/docs/static/${name}`, type, () => file(name));
}
