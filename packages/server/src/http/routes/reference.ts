import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import type { App, RouteContext } from '../context.ts';
import { unknownPath } from '../request/paths.ts';

/** Where the pages are, and what they load. */
const PAGES = ['/docs', '/docs/', '/docs/json', '/docs/yaml', '/docs/static/*'];

interface Reference {
  /** OpenAPI 3.1. */
  document: object;
  /** Serves the pages through `inject`; it never listens. */
  pages: App;
}

/**
 * The description of the API and the pages that show it, made for the first request of either: most servers
 * never get one, and it takes a tenth of a second and some MB. After a failure the next request tries again.
 */
function createReference(context: RouteContext): () => Promise<Reference> {
  const make = async (): Promise<Reference> => {
    const [{ openapiDocument }, { referencePages }] = await Promise.all([
      import('../openapi/document.ts'),
      import('../openapi/pages.ts'),
    ]);
    const document = await openapiDocument(context);
    return { document, pages: await referencePages(document) };
  };
  let made: Promise<Reference> | undefined;
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined;
      throw error;
    });
    return made;
  };
}

/** The API description as OpenAPI, and pages that show it and try it. */
export function referenceRoutes(app: App, context: RouteContext): void {
  const reference = createReference(context);
  const route = { config: { access: 'public' }, schema: { hide: true } } as const;

  const page = async (request: FastifyRequest, reply: FastifyReply) => {
    const { pages } = await reference();
    // For HEAD the outer app omits the body.
    const answer = await pages.inject({ method: 'GET', url: request.url, headers: request.headers });
    const { statusCode, headers, rawPayload } = answer;
    if (statusCode >= 500) throw new Error(`the reference pages failed: ${answer.payload}`);
    if (statusCode === 404) throw unknownPath(request.url);
    if (statusCode >= 400) throw new AppError('invalid_request', 'The request could not be read.');
    // Headers of a connection, which an injected request does not have.
    const { connection, date, 'transfer-encoding': _, ...own } = headers;
    reply.code(statusCode).headers(own);
    // Sending an empty payload would add a Content-Type and, to a 304, a Content-Length.
    return rawPayload.length > 0 ? reply.send(rawPayload) : reply.send();
  };

  for (const path of PAGES) app.get(path, route, page);
  app.get('/openapi.json', route, async () => (await reference()).document);
}
