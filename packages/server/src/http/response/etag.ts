import { hash } from 'node:crypto';
import type { FastifyReply } from 'fastify';
import { LRUCache } from 'lru-cache';
import { JSON_TYPE } from '../openapi/responses.ts';

export const immutableTag = (name: string): string => `"${name}"`;

/** 132 bits of the hash, so that in practice two different bodies never have the same tag. */
const CONTENT_TAG_LETTERS = 22;

export const contentTag = (body: Uint8Array): string =>
  `W/"${hash('sha256', body, 'base64url').slice(0, CONTENT_TAG_LETTERS)}"`;

const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');

/** True if If-None-Match names the tag, compared weakly (RFC 9110 section 13.1.2). */
export function isFresh(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((one) => opaque(one) === opaque(tag));
}

export function sendJson(reply: FastifyReply, body: Buffer, tag: string | null): FastifyReply {
  if (tag !== null) reply.header('etag', tag);
  if (tag !== null && isFresh(reply.request.headers['if-none-match'], tag)) return reply.code(304).send();
  return reply.header('content-type', JSON_TYPE).send(body);
}

/** Caches responses for clients that poll. A response is valid until the `version` of its inbox changes. */
export class ResponseCache {
  readonly #cache = new LRUCache<string, { body: Buffer; tag: string }>({
    maxSize: 16 * 1024 * 1024,
    maxEntrySize: 256 * 1024,
    sizeCalculation: ({ body }, key) => body.length + key.length,
  });
  readonly #asked = new LRUCache<string, true>({ max: 2_000 });

  /** @param make must read the store after `inbox` was read: its JSON must not be older than the version */
  async json(
    inbox: { id: string; version: number },
    request: string,
    make: () => Promise<{ json: string | Buffer; tag?: string }>,
  ) {
    const key = `${inbox.id} ${inbox.version} ${request}`;
    const known = this.#cache.get(key);
    if (known) return known;
    const { json, tag = `W/"${inbox.version}"` } = await make();
    const response = { body: typeof json === 'string' ? Buffer.from(json) : json, tag };
    // Most requests are never repeated, so a response is cached at the second request.
    if (this.#asked.has(key)) this.#cache.set(key, response);
    else this.#asked.set(key, true);
    return response;
  }
}
