import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** The built web package, which is served below /console; its pages call the API like any other client. */
const DIST = fileURLToPath(new URL('../../../web/dist', import.meta.url));
const ASSETS = 'assets';
/** The names of assets contain a hash of their content. */
const IMMUTABLE = 'public, max-age=31536000, immutable';

const TYPES: Record<string, string> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  html: 'text/html; charset=utf-8',
};

/** Allows only scripts of the build and requests to this server. Mail is shown in a frame with a policy of its own. */
const pageHeaders = (html: string) => ({
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    // The only style sheet is part of the page, so text of a mail cannot become one.
    `style-src 'sha256-${createHash('sha256').update(styleOf(html)).digest('base64')}'`,
    "img-src 'self' data:",
    "connect-src 'self'",
    // For PDF attachments; the page creates no other blob URLs.
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

/** Endings of the compressed files that the build adds to each file, best first. */
const ENCODINGS = [
  { name: 'br', ending: '.br' },
  { name: 'gzip', ending: '.gz' },
] as const;

const NOT_BUILT =
  'The console is not built. Run "npm run build -w packages/web" in the folder of Mayfly, then load this page again.\n';

function readBuild(): ReadonlyMap<string, Buffer> {
  if (!existsSync(DIST)) return new Map();
  const entries = readdirSync(DIST, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map(paths.map((path) => [relative(DIST, path), readFileSync(path)]));
}

/** Every path that is no asset returns the same page, whose script reads the path. */
export function consolePages(app: FastifyInstance, notFound: (url: string) => Error): void {
  let files: ReadonlyMap<string, Buffer> = new Map();
  let headers: ReturnType<typeof pageHeaders> | undefined;
  const route = { config: { access: 'public' } } as const;

  const send = (request: FastifyRequest, reply: FastifyReply, path: string): FastifyReply => {
    const accepted = String(request.headers['accept-encoding'] ?? '');
    const encoding = ENCODINGS.find(({ name }) => accepted.includes(name));
    reply.header('vary', 'Accept-Encoding').type(TYPES[path.split('.').at(-1) ?? ''] ?? TYPES.html ?? '');
    if (encoding) reply.header('content-encoding', encoding.name);
    return reply.send(files.get(`${path}${encoding?.ending ?? ''}`));
  };
  // Read at the first request after the build, so that a start reads nothing.
  app.get('/console/assets/:file', route, async (request, reply) => {
    if (files.size === 0) files = readBuild();
    const path = `${ASSETS}/${(request.params as { file: string }).file}`;
    if (!files.has(path)) throw notFound(request.url);
    reply.header('cache-control', IMMUTABLE).header('cross-origin-resource-policy', 'same-origin');
    return send(request, reply, path);
  });
  app.get('/console/*', route, async (request, reply) => {
    if (files.size === 0) files = readBuild();
    const html = files.get('index.html');
    if (!html) return reply.code(503).type('text/plain').send(NOT_BUILT);
    headers ??= pageHeaders(html.toString());
    return send(request, reply.headers(headers), 'index.html');
  });
  app.get('/', route, (_request, reply) => reply.redirect('/console/', 302));
  app.get('/console', route, (_request, reply) => reply.redirect('/console/', 302));
}
