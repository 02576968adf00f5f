import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import type { App, HttpOptions, RouteContext } from '../context.ts';
import type { DescribedOptions } from '../openapi/document.ts';
import { JSON_TYPE } from '../openapi/responses.ts';
import { unknownPath } from '../request/paths.ts';
import { prepareStatic, type StaticResponse, sendStatic } from '../response/static-response.ts';
import { LLMS_TEXT } from './llms-text.ts';

const DOCUMENT = '/openapi.json';
const GUIDE = '/llms.txt';
/** The pages. The files that they load are below `/docs/static/`. */
const PAGES = ['/docs', '/docs/', '/docs/json', '/docs/yaml'];
const FILES = '/docs/static/*';
/** No other name leads to a file, so that each file is prepared under one name only. */
const FILE_NAME = /^(?:theme\/)?[\w.-]{1,100}$/;

/**
 * The API description as JSON. It is made on a thread of its own: that takes 90 ms of computing, and the modules and
 * objects that it needs once are freed with the thread.
 */
async function makeDocument({ signUpPlan = null, webhookExample }: HttpOptions): Promise<string> {
  const workerData: DescribedOptions = { signUpPlan, webhookExample };
  const thread = new Worker(new URL('../openapi/thread.ts', import.meta.url), { workerData });
  const [json] = await once(thread, 'message');
  return json;
}

/** Loads the app of the pages: most servers never need it. It serves through `inject` and never listens. */
async function makePages(document: string): Promise<App> {
  const { referencePages } = await import('../openapi/pages.ts');
  return referencePages(JSON.parse(document));
}

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

/** @throws AppError `not_found` for a path that the pages do not have */
async function preparePage(pages: App, path: string): Promise<StaticResponse> {
  const response = await pages.inject({ method: 'GET', url: path });
  const { statusCode, headers, rawPayload } = response;
  if (statusCode >= 500) throw new Error(`the reference pages failed: ${response.payload}`);
  if (statusCode === 404) throw unknownPath(path);
  if (statusCode >= 400) throw new AppError('invalid_request', 'The request could not be read.');
  const names = ['content-type', 'content-security-policy', 'cache-control', 'location'];
  const own = names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]));
  return prepareStatic(statusCode, Object.fromEntries(own), rawPayload);
}

/** The API description as OpenAPI, pages that show it and try it, and a guide. Each response is prepared once. */
export function referenceRoutes(app: App, context: RouteContext): void {
  const document = keep(() => makeDocument(context.options));
  const pages = keep(async () => makePages(await document()));
  const prepared = new Map<string, () => Promise<StaticResponse>>();
  const config = { access: 'public' } as const;
  const route = { config, schema: { hide: true } };

  const prepare = (path: string): Promise<StaticResponse> => {
    const known = prepared.get(path);
    if (known) return known();
    const made = pages().then((served) => preparePage(served, path));
    prepared.set(path, () => made);
    // Only what exists is kept: the number of other paths has no limit.
    made.catch(() => prepared.delete(path));
    return made;
  };
  const send = async (path: string, request: FastifyRequest, reply: FastifyReply) =>
    sendStatic(request, reply, await prepare(path));

  prepared.set(
    DOCUMENT,
    keep(async () => prepareStatic(200, { 'content-type': JSON_TYPE }, Buffer.from(await document()))),
  );
  prepared.set(
    GUIDE,
    keep(() => prepareStatic(200, { 'content-type': 'text/plain; charset=utf-8' }, Buffer.from(LLMS_TEXT))),
  );
  for (const path of [DOCUMENT, GUIDE, ...PAGES])
    app.get(path, route, (request, reply) => send(path, request, reply));
  app.get(FILES, route, (request, reply) => {
    const { '*': name = '' } = request.params as { '*'?: string };
    if (!FILE_NAME.test(name)) throw unknownPath(request.url);
    return send(FILES.replace('*', name), request, reply);
  });
}
