import { LRUCache } from 'lru-cache';
import type { InboxRecord } from '../../store/contract/index.ts';
import { MAX_CACHED_RESPONSE_BYTES, RESPONSE_CACHE_BYTES } from '../limits.ts';
import type { MaybePromise } from '../maybe-promise.ts';

/** Requests that were answered once, to recognise the second one. */
const ASKED_ONCE = 2_000;

/**
 * Responses about an inbox, ready to send, for clients that repeat a request before anything changed:
 * pollers and parallel tests. An inbox's `version` grows with every change of it or of its messages, and the
 * guard reads it for every request, so a response under the same version is the same response.
 */
export interface ResponseCache {
  /**
   * The JSON of a response and its weak validator (RFC 9110 section 8.8.3; one stands for its own URL
   * alone), worked out only when they are not known. A change while `make` works only makes the validator fall short.
   * @param inbox as the guard read it, before `make` reads anything
   * @param make makes the JSON, or its bytes in UTF-8 where they are at hand; with a validator of its own where
   *   the response does not change with every version
   * @param request all that the response depends on besides: the URL, and the base of URLs in it
   */
  json(
    inbox: InboxRecord,
    request: string,
    make: () => Promise<string | Buffer | { json: string | Buffer; tag: string }>,
  ): MaybePromise<CachedResponse>;
}

export interface CachedResponse {
  body: Buffer;
  tag: string;
}

export function createResponseCache(): ResponseCache {
  const cache = new LRUCache<string, CachedResponse>({
    maxSize: RESPONSE_CACHE_BYTES,
    maxEntrySize: MAX_CACHED_RESPONSE_BYTES,
    sizeCalculation: ({ body }, key) => body.length + key.length,
  });
  const asked = new LRUCache<string, true>({ max: ASKED_ONCE });
  return {
    json(inbox, request, make) {
      const key = `${inbox.id} ${inbox.version} ${request}`;
      const known = cache.get(key);
      if (known) return known;
      return make().then((made) => {
        const isPlain = typeof made === 'string' || Buffer.isBuffer(made);
        const { json, tag } = isPlain ? { json: made, tag: `W/"${inbox.version}"` } : made;
        const response = { body: typeof json === 'string' ? Buffer.from(json) : json, tag };
        // Most requests are never repeated: only a request that came twice is cached.
        if (asked.has(key)) cache.set(key, response);
        else asked.set(key, true);
        return response;
      });
    },
  };
}
