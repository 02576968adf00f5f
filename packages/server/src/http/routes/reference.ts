import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../context.ts';
import { PAGES } from '../openapi/page.ts';
import { JSON_TYPE } from '../openapi/responses.ts';
import { contentTag, isFresh } from '../response/etag.ts';
import { LLMS_TEXT } from './llms-text.ts';

/** The OpenAPI document of the API: `npm run openapi` writes it. */
export const OPENAPI_FILE = new URL('../../../../../openapi.json', import.meta.url);

const LIBRARY_FOLDER = new URL('../../../../../node_modules/@fastify/swagger-ui/static/', import.meta.url);
/** Files of Swagger UI that the page loads, and their types. */
const LIBRARY: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};

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

/** True if an Accept-Encoding field allows gzip (RFC 9110 section 12.5.3). */
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
  serve('/llms.txt', 'text/plain; charset=utf-8', async () => Buffer.from(LLMS_TEXT));
  for (const [path, { type, body, headers }] of Object.entries(PAGES))
    serve(path, type, async () => Buffer.from(body), headers);
  for (const [name, type] of Object.entries(LIBRARY))
    serve(`/docs/static/${name}`, type, () => readFile(new URL(name, LIBRARY_FOLDER)));
}
