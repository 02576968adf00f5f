/*
 * Functions that run in the browser, on the reference page: Swagger UI calls them around each request. Only their own
 * source is sent, so they must not refer to anything else. They replace the example ids in requests by ids of what the
 * page has created or read, so that every operation can be tried with its examples.
 */

interface PageRequest {
  url?: string;
  method?: string;
  body?: unknown;
  /** Used by Swagger UI in place of `fetch`. */
  userFetch?: typeof fetch;
}

interface PageResponse {
  ok?: boolean;
  text?: unknown;
}

/** Ids by their prefix, and the method of the last request. */
type Page = typeof globalThis & { mayflyIds?: Record<string, string>; mayflyMethod?: string | undefined };

/** Replaces example ids in a request before it is sent, and cuts streams. */
export function beforeRequest(request: PageRequest): PageRequest {
  const page = globalThis as Page;
  const ids = page.mayflyIds ?? {};
  page.mayflyMethod = request.method;
  const replace = (text: string): string =>
    text.replace(/(inb|msg|whk|dlv|key)_01kk4m[0-9a-z]{20}/g, (example, prefix) => ids[prefix] ?? example);
  if (request.url !== undefined) request.url = replace(request.url);
  if (typeof request.body === 'string') request.body = replace(request.body);
  if (!/\/events(\?|$)/.test(request.url ?? '')) return request;
  // Swagger UI shows only complete responses, so a stream is cut after three seconds.
  request.userFetch = async (url, options) => {
    const response = await fetch(url, { ...options, signal: AbortSignal.timeout(3_000) });
    const decoder = new TextDecoder();
    let text = '';
    try {
      for (const reader = response.body?.getReader(); reader; ) {
        const { value, done } = await reader.read();
        if (done) break;
        text += decoder.decode(value, { stream: true });
      }
    } catch {
      // Timed out: what has arrived is shown.
    }
    const { status, statusText, headers } = response;
    return new Response(text, { status, statusText, headers });
  };
  return request;
}

/** Stores the ids in a response: of what the page created, and of messages. */
export function afterResponse(response: PageResponse): PageResponse {
  const { ok, text } = response;
  if (!ok || typeof text !== 'string') return response;
  const page = globalThis as Page;
  page.mayflyIds ??= {};
  const kinds = page.mayflyMethod === 'POST' ? ['inb', 'msg', 'whk', 'dlv', 'key'] : ['msg', 'dlv'];
  for (const kind of kinds) {
    const [, id] = new RegExp(`"id": ?"(${kind}_[0-9a-z]{26})"`).exec(text) ?? [];
    if (id !== undefined) page.mayflyIds[kind] = id;
  }
  return response;
}
