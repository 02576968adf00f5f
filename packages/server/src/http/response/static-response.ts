import { promisify } from 'node:util';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { contentTag, isFresh } from './etag.ts';

// Loaded with the first static response: node:zlib takes memory that most servers never need.

/** The content codings offered (RFC 9110 section 8.4.1), the preferred one first. */
const CODINGS = ['br', 'gzip'] as const;
type Coding = (typeof CODINGS)[number] | 'identity';
/** Smaller bodies fit into one packet as they are. */
const MIN_COMPRESSED_BYTES = 1_024;
/** Text compresses well; pictures and fonts are compressed already. */
const COMPRESSIBLE = /^(?:text\/|application\/(?:json|javascript|yaml)|image\/svg)/;
/** Nearly as small as the best quality, which takes seconds for a megabyte. */
const BROTLI_QUALITY = 5;

interface Variant {
  body: Buffer;
  tag: string;
}

/** A response that stays the same while the server runs. All requests share its bytes. */
export interface StaticResponse {
  status: number;
  headers: Record<string, string>;
  variants: Partial<Record<Coding, Variant>>;
}

const variant = (body: Buffer): Variant => ({ body, tag: contentTag(body) });

/**
 * Prepares a response once, also compressed. The work is done outside of the main thread.
 * @param headers with `content-type`; names in lower case
 */
export async function prepareStatic(
  status: number,
  headers: Record<string, string>,
  body: Buffer,
): Promise<StaticResponse> {
  const response: StaticResponse = { status, headers, variants: { identity: variant(body) } };
  if (body.length < MIN_COMPRESSED_BYTES || !COMPRESSIBLE.test(headers['content-type'] ?? ''))
    return response;
  const { brotliCompress, constants, gzip } = await import('node:zlib');
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
    promisify(gzip)(body),
  ]);
  response.variants.br = variant(br);
  response.variants.gzip = variant(gz);
  return response;
}

/**
 * The weight that an Accept-Encoding field gives to a coding (RFC 9110 section 12.5.3); 0: not acceptable. An
 * unmentioned `identity` is acceptable, and any coding that is named or matched by `*` is preferred to it.
 */
function weightOf(coding: Coding, accepted: ReadonlyMap<string, number>): number {
  if (coding === 'identity') return accepted.get('identity') ?? 0;
  return accepted.get(coding) ?? accepted.get('*') ?? 0;
}

function parseAccepted(header: string): ReadonlyMap<string, number> {
  const accepted = new Map<string, number>();
  for (const item of header.split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    accepted.set(name, quality === undefined ? 1 : Number(quality.slice(2)) || 0);
  }
  return accepted;
}

/** The coding that the client prefers among those that the response has. */
function codingFor(header: string | undefined, { variants }: StaticResponse): Coding {
  if (header === undefined) return 'identity';
  const accepted = parseAccepted(header);
  let best: Coding = 'identity';
  for (const coding of CODINGS) {
    const weight = weightOf(coding, accepted);
    if (variants[coding] && weight > 0 && weight > weightOf(best, accepted)) best = coding;
  }
  return best;
}

/** Sends a prepared response, or 304 to a client that has it already. */
export function sendStatic(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  response: StaticResponse,
): FastifyReply {
  const coding = codingFor(headers['accept-encoding'], response);
  const { body, tag } = response.variants[coding] ?? variant(Buffer.alloc(0));
  reply.code(response.status).headers(response.headers);
  if (response.variants.br) {
    const vary = reply.getHeader('vary');
    reply.header('vary', vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`);
  }
  // A redirect has no body; sending an empty one would add a Content-Type.
  if (body.length === 0) return reply.send();
  if (coding !== 'identity') reply.header('content-encoding', coding);
  reply.header('etag', tag);
  return isFresh(headers['if-none-match'], tag) ? reply.code(304).send() : reply.send(body);
}
