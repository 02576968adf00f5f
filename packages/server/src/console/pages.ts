import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { FastifyInstance } from 'fastify';
import { codeOf } from '../errors.ts';
import { prepareStatic, type StaticResponse, sendStatic } from '../http/response/static.ts';

/** The built web package, which is served below /console. Its page calls the API like any other client. */
const DIST = new URL('../../../web/dist/', import.meta.url);
const ASSET = /^[\w-]+(?:\.[\w-]+)*$/;
const ASSET_HEADERS = {
  // Cached forever, because the name of an asset contains a hash of its content.
  'cache-control': 'public, max-age=31536000, immutable',
  'cross-origin-resource-policy': 'same-origin',
};

const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  html: 'text/html; charset=utf-8',
};

const pageHeaders = (html: string) => ({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'sha256-${createHash('sha256').update(styleOf(html)).digest('base64')}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    // The console shows PDF attachments by blob URLs.
    "frame-src 'self' blob:",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-cache',
});

const styleOf = (html: string): string => /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? '';

const NOT_BUILT =
  'The console is not built. Run "npm run build -w packages/web" in the folder of Mayfly, then load this page again.\n';

async function readBuilt(path: string, headersOf: (file: Buffer) => Record<string, string>) {
  const file = await readFile(new URL(path, DIST)).catch((error) => {
    if (codeOf(error) !== 'ENOENT') throw error;
    return undefined;
  });
  const type = TYPES[path.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
  return file && prepareStatic({ 'content-type': type, ...headersOf(file) }, file);
}

/** All paths below /console except those of assets return the same page. Its script reads the path. */
export function consolePages(app: FastifyInstance, notFound: (url: string) => Error): void {
  const route = { config: { access: 'public' } } as const;
  const assets = new Map<string, StaticResponse>();
  let page: StaticResponse | undefined;

  app.get('/console/assets/:file', route, async (request, reply) => {
    const { file } = request.params as { file: string };
    const asset =
      ASSET.test(file) && (assets.get(file) ?? (await readBuilt(`assets/${file}`, () => ASSET_HEADERS)));
    if (!asset) throw notFound(request.url);
    assets.set(file, asset);
    return sendStatic(reply, asset);
  });
  app.get('/console/*', route, async (_request, reply) => {
    page ??= await readBuilt('index.html', (html) => pageHeaders(html.toString()));
    if (!page) return reply.code(503).type('text/plain').send(NOT_BUILT);
    return sendStatic(reply, page);
  });
  app.get('/', route, (_request, reply) => reply.redirect('/console/', 302));
  app.get('/console', route, (_request, reply) => reply.redirect('/console/', 302));
}
