import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import type { App, RouteContext } from '../context.ts';
import { JSON_TYPE } from '../openapi/responses.ts';
import { unknownPath } from '../request/paths.ts';
import { prepareStatic, type StaticAnswer, sendStatic } from '../response/static-answer.ts';
import { LLMS_TEXT } from './llms-text.ts';

const DOCUMENT = '/openapi.json';
const GUIDE = '/llms.txt';
/** The pages. The files that they load are below `/docs/static/`. */
const PAGES = ['/docs', '/docs/', '/docs/json', '/docs/yaml'];
const FILES = '/docs/static/*';
/** No other name leads to a file, so that each file is prepared under one name only. */
const FILE_NAME = /^(?:theme\/)?[\w.-]{1,100}$/;

interface Reference {
  /** OpenAPI 3.1. */
  document: object;
  /** Serves the pages through `inject`; it never listens. */
  pages: App;
}

/** Loads the API description and the app of its pages: most servers never need them. */
async function makeReference(context: RouteContext): Promise<Reference> {
  const [{ openapiDocument }, { referencePages }] = await Promise.all([
    import('../openapi/document.ts'),
    import('../openapi/pages.ts'),
  ]);
  const document = await openapiDocument(context);
  return { document, pages: await referencePages(document) };
}

/** @returns what `make` returned the first time; after a failure the next call makes it again */
function once<T>(make: () => Promise<T>): () => Promise<T> {
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
async function preparePage({ pages }: Reference, path: string): Promise<StaticAnswer> {
  const answer = await pages.inject({ method: 'GET', url: path });
  const { statusCode, headers, rawPayload } = answer;
  if (statusCode >= 500) throw new Error(`the reference pages failed: ${answer.payload}`);
  if (statusCode === 404) throw unknownPath(path);
  if (statusCode >= 400) throw new AppError('invalid_request', 'The request could not be read.');
  const names = ['content-type', 'content-security-policy', 'cache-control', 'location'];
  const own = names.flatMap((name) => (headers[name] === undefined ? [] : [[name, String(headers[name])]]));
  return prepareStatic(statusCode, Object.fromEntries(own), rawPayload);
}

/** The API description as OpenAPI, pages that show it and try it, and a guide. Each response is prepared once. */
export function referenceRoutes(app: App, context: RouteContext): void {
  const reference = once(() => makeReference(context));
  const prepared = new Map<string, () => Promise<StaticAnswer>>();
  const config = { access: 'public' } as const;
  const route = { config, schema: { hide: true } };

  const prepare = (path: string): Promise<StaticAnswer> => {
    const known = prepared.get(path);
    if (known) return known();
    const made = reference().then((all) => preparePage(all, path));
    prepared.set(path, () => made);
    // Only what exists is kept: the number of other paths has no limit.
    made.catch(() => prepared.delete(path));
    return made;
  };
  const send = async (path: string, request: FastifyRequest, reply: FastifyReply) =>
    sendStatic(request, reply, await prepare(path));

  prepared.set(
    DOCUMENT,
    once(async () => {
      const { document } = await reference();
      return prepareStatic(200, { 'content-type': JSON_TYPE }, Buffer.from(JSON.stringify(document)));
    }),
  );
  prepared.set(
    GUIDE,
    once(() => prepareStatic(200, { 'content-type': 'text/plain; charset=utf-8' }, Buffer.from(LLMS_TEXT))),
  );
  for (const path of [DOCUMENT, GUIDE, ...PAGES])
    app.get(path, route, (request, reply) => send(path, request, reply));
  app.get(FILES, route, (request, reply) => {
    const { '*': name = '' } = request.params as { '*'?: string };
    if (!FILE_NAME.test(name)) throw unknownPath(request.url);
    return send(FILES.replace('*', name), request, reply);
  });
}
