import { hash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { JSON_TYPE } from '../openapi/responses.ts';

/** The strong validator of something that never changes. */
export const immutableTag = (name: string): string => `"${name}"`;

/** Enough of a hash that two bodies of one URL never share it. */
const CONTENT_TAG_LETTERS = 22;

/** The weak validator of a body that is made anew for each request. */
export const contentTag = (body: Uint8Array): string =>
  `W/"${hash('sha256', body, 'base64url').slice(0, CONTENT_TAG_LETTERS)}"`;

const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');

/** True when If-None-Match names that validator, compared weakly (RFC 9110 section 13.1.2). */
export function isFresh(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((one) => opaque(one) === opaque(tag));
}

/**
 * Sends JSON, or 304 to a client that has it already.
 * @param tag its validator; null for none
 */
export function sendJson(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  body: Buffer,
  tag: string | null,
): FastifyReply {
  if (tag !== null) reply.header('etag', tag);
  if (tag !== null && isFresh(headers['if-none-match'], tag)) return reply.code(304).send();
  return reply.header('content-type', JSON_TYPE).send(body);
}
