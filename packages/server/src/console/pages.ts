import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/*
 * Serves the built web package (packages/web/dist) below /console. The pages call the API like any other client.
 * Files are read at their first request and kept.
 */

/** Output of `npm run build`. */
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

function createFiles(folder: string) {
  const contents = new Map<string, Promise<Buffer>>();
  let assets: Set<string> | undefined;
  return {
    /** True for an asset of the build; only such names are joined to a path. */
    hasAsset(name: string): boolean {
      assets ??= new Set(existsSync(join(folder, ASSETS)) ? readdirSync(join(folder, ASSETS)) : []);
      return assets.has(name);
    },
    read(path: string): Promise<Buffer> {
      const known = contents.get(path);
      if (known) return known;
      const read = readFile(join(folder, path));
      contents.set(path, read);
      // A failed read is retried at the next request.
      read.catch(() => contents.delete(path));
      return read;
    },
  };
}

/** @param folder the output of the build */
export function consolePages(app: FastifyInstance, notFound: (url: string) => Error, folder = DIST): void {
  const files = createFiles(folder);
  const route = { config: { access: 'public' } } as const;

  const send = async (request: FastifyRequest, reply: FastifyReply, path: string): Promise<FastifyReply> => {
    const accepted = String(request.headers['accept-encoding'] ?? '');
    const encoding = ENCODINGS.find(({ name }) => accepted.includes(name));
    reply.header('vary', 'Accept-Encoding').type(TYPES[path.split('.').at(-1) ?? ''] ?? TYPES.html ?? '');
    if (encoding) reply.header('content-encoding', encoding.name);
    return reply.send(await files.read(`${path}${encoding?.ending ?? ''}`));
  };

  let headers: ReturnType<typeof pageHeaders> | undefined;
  const page = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    if (!existsSync(join(folder, 'index.html'))) return reply.code(503).type('text/plain').send(NOT_BUILT);
    headers ??= pageHeaders((await files.read('index.html')).toString());
    reply.headers(headers);
    return send(request, reply, 'index.html');
  };

  app.get('/', route, (_request, reply) => reply.redirect('/console/inboxes', 302));
  app.get('/console', route, (_request, reply) => reply.redirect('/console/inboxes', 302));
  app.get('/console/assets/:file', route, async (request, reply) => {
    const { file } = request.params as { file: string };
    if (!files.hasAsset(file)) throw notFound(request.url);
    reply.header('cache-control', IMMUTABLE).header('cross-origin-resource-policy', 'same-origin');
    return send(request, reply, `${ASSETS}/${file}`);
  });
  // Every other path returns the same page, whose script reads the path.
  app.get('/console/*', route, page);
}
