/*
 * Two functions that run in the browser, on the reference page: Swagger UI calls them around each request.
 * Their source is sent to the page, so neither may refer to anything outside of itself.
 *
 * The examples of the API description name things by example ids, which no server has. Once a request of the
 * page has created a thing, or read a message, its id replaces the example id of the same kind in later
 * requests. So each operation can be tried with its examples, in the order of the page.
 */

interface PageRequest {
  url?: string;
  body?: unknown;
}

interface PageResponse {
  ok?: boolean;
  status?: number;
  text?: unknown;
  req?: { method?: string };
}

/** Where the page keeps the ids, by their prefix. */
type Page = typeof globalThis & { mayflyIds?: Record<string, string> };

/** Replaces example ids in a request that is about to be sent. */
export function useRememberedIds(request: PageRequest): PageRequest {
  const ids = (globalThis as Page).mayflyIds ?? {};
  const replace = (text: string): string =>
    text.replace(/(inb|msg|whk|dlv|key)_01kk4m[0-9a-z]{20}/g, (example, prefix) => ids[prefix] ?? example);
  if (request.url !== undefined) request.url = replace(request.url);
  if (typeof request.body === 'string') request.body = replace(request.body);
  return request;
}

/** Remembers the ids in a response. Only of what the page itself created, and messages: others are not touched. */
export function rememberIds(response: PageResponse): PageResponse {
  const { ok, text, req } = response;
  if (!ok || typeof text !== 'string') return response;
  const page = globalThis as Page;
  page.mayflyIds ??= {};
  const kinds = req?.method === 'POST' ? ['inb', 'msg', 'whk', 'dlv', 'key'] : ['msg', 'dlv'];
  for (const kind of kinds) {
    const [, id] = new RegExp(`"id": ?"(${kind}_[0-9a-z]{26})"`).exec(text) ?? [];
    if (id !== undefined) page.mayflyIds[kind] = id;
  }
  return response;
}
