import { readFile } from 'node:fs/promises';
import type { App } from '../context.ts';
import { JSON_TYPE } from '../openapi/responses.ts';
import { prepareStatic, type StaticResponse, sendStatic } from '../response/static.ts';

export const OPENAPI_FILE = new URL('../../../../../openapi.json', import.meta.url);

const PAGE_FOLDER = new URL('../../../reference/', import.meta.url);
const PAGE = 'index.html';
const PAGE_FILES: Record<string, string> = {
  'page.css': 'text/css; charset=utf-8',
  'page.js': 'text/javascript; charset=utf-8',
  'mayfly.svg': 'image/svg+xml',
};
const CSP = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

export function referenceRoutes(app: App): void {
  const serve = (path: string, type: string, read: () => Promise<Buffer>, headers = {}): void => {
    let prepared: Promise<StaticResponse> | undefined;
    app.get(path, { config: { access: 'public' } }, async (_request, reply) => {
      prepared ??= read().then((body) => prepareStatic({ ...headers, 'content-type': type }, body));
      return sendStatic(reply, await prepared);
    });
  };
  serve('/openapi.json', JSON_TYPE, () => readFile(OPENAPI_FILE));
  const file = (name: string) => readFile(new URL(name, PAGE_FOLDER));
  // A guide for AI agents, see llmstxt.org.
  serve('/llms.txt', 'text/plain; charset=utf-8', () => file('llms.txt'));
  const page = (path: string, read: () => Promise<Buffer>) =>
    serve(path, 'text/html; charset=utf-8', read, { 'content-security-policy': CSP });
  page('/docs', () => file(PAGE));
  // On a page at `/docs/`, browsers would resolve the relative URL `docs/static/` to `/docs/docs/static/`.
  page('/docs/', async () => Buffer.from(String(await file(PAGE)).replaceAll('="docs/static/', '="static/')));
  for (const [name, type] of Object.entries(PAGE_FILES))
    serve(`/docs/static/${name}`, type, () => file(name));
}
