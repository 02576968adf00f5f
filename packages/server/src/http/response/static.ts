import { promisify } from 'node:util';
import type { FastifyReply } from 'fastify';
import { contentTag, isFresh } from './etag.ts';

export type StaticResponse = Awaited<ReturnType<typeof prepareStatic>>;

/** Smaller bodies are not compressed, because they fit into one packet anyway. */
const MIN_COMPRESSED_BYTES = 1_024;

/** @param headers names in lower case, with `content-type` */
export async function prepareStatic(headers: Record<string, string>, body: Buffer) {
  // Loaded at the first use, to save memory.
  const { gzip } = await import('node:zlib');
  const zipped = body.length < MIN_COMPRESSED_BYTES ? null : await promisify(gzip)(body);
  return { headers, body, zipped, tag: contentTag(body) };
}

const allowsGzip = (accepted = ''): boolean =>
  accepted.split(',').some((one) => /^\s*(?:x-gzip|gzip|\*)\s*(?:;\s*q=(?:1|0\.\d*[1-9])|$)/i.test(one));

export function sendStatic(reply: FastifyReply, { headers: own, body, zipped, tag }: StaticResponse) {
  const { headers } = reply.request;
  reply.headers(own);
  if (zipped) {
    const vary = reply.getHeader('vary');
    reply.header('vary', vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`);
  }
  reply.header('etag', tag);
  if (isFresh(headers['if-none-match'], tag)) return reply.code(304).send();
  if (!zipped || !allowsGzip(headers['accept-encoding'])) return reply.send(body);
  return reply.header('content-encoding', 'gzip').send(zipped);
}
