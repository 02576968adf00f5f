import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { App } from '../context.ts';
import { OPENAPI_FILE } from '../openapi/file.ts';
import { JSON_TYPE } from '../openapi/responses.ts';
import { prepareStatic, type StaticResponse, sendStatic } from '../response/static-response.ts';
import { LLMS_TEXT } from './llms-text.ts';

const PAGE_PATHS = [
  '/docs',
  '/docs/',
  '/docs/static/start.js',
  '/docs/static/mayfly.css',
  '/docs/static/mayfly.svg',
];
/** Files of Swagger UI that the page loads, and their types. */
const LIBRARY: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
};

/** Loads the page when it is first requested: most servers never need it. */
async function preparePage(path: string): Promise<StaticResponse> {
  const { PAGES } = await import('../openapi/page.ts');
  const { headers = {}, body = '' } = PAGES[path] ?? {};
  return prepareStatic(200, headers, Buffer.from(body));
}

const prepareFile = async (type: string, file: URL | string): Promise<StaticResponse> =>
  prepareStatic(200, { 'content-type': type }, await readFile(file));

const prepareLibrary = (name: string, type: string): Promise<StaticResponse> =>
  prepareFile(type, createRequire(import.meta.url).resolve(`@fastify/swagger-ui/static/${name}`));

/** @returns what `make` returned the first time; after a failure the next call makes it again */
function keep<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

/** The API description as OpenAPI, a page that shows it and tries it, and a guide. Each response is prepared once. */
export function referenceRoutes(app: App): void {
  const serve = (path: string, make: () => Promise<StaticResponse>): void => {
    const prepared = keep(make);
    app.get(path, { config: { access: 'public' } }, async (request, reply) =>
      sendStatic(request, reply, await prepared()),
    );
  };
  serve('/openapi.json', () => prepareFile(JSON_TYPE, OPENAPI_FILE));
  serve('/llms.txt', () =>
    prepareStatic(200, { 'content-type': 'text/plain; charset=utf-8' }, Buffer.from(LLMS_TEXT)),
  );
  for (const path of PAGE_PATHS) serve(path, () => preparePage(path));
  for (const [name, type] of Object.entries(LIBRARY))
    serve(`/docs/static/${name}`, () => prepareLibrary(name, type));
}
