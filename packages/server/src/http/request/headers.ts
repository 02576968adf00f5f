import type { FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { quoted } from '../../text/nearest.ts';

/** Empty, or a host with an optional port (RFC 3986 section 3.2.2), also with the underscores of container names. */
const HOST = /^(?:(?:[A-Za-z0-9._~-]+|\[[0-9A-Fa-f:.]+\])(?::\d{0,5})?)?$/;

/** Node keeps the first of several Host fields, and a proxy before it may use another one. */
function hostFields(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

/**
 * @throws AppError `invalid_request` for a missing, repeated or malformed Host (RFC 9112 section 3.2),
 *   `unsupported_media_type` for a body with a content coding (RFC 9110 section 15.5.16)
 */
export function assertReadable({ raw, headers }: Pick<FastifyRequest, 'raw' | 'headers'>): void {
  const hosts = hostFields(raw.rawHeaders);
  if (hosts === 0 && raw.httpVersionMinor === 1) {
    throw new AppError('invalid_request', 'The Host header is missing. HTTP/1.1 requires it.');
  }
  if (hosts > 1) {
    throw new AppError('invalid_request', `The Host header is given ${hosts} times. Send it once.`);
  }
  if (!HOST.test(headers.host ?? '')) {
    throw new AppError(
      'invalid_request',
      `The Host header is ${quoted(headers.host ?? '')}. Send one host name or address, with an optional port, such as "mayfly.example.com:8025".`,
    );
  }
  const coding = headers['content-encoding'];
  if (coding === undefined || coding.toLowerCase() === 'identity') return;
  throw new AppError(
    'unsupported_media_type',
    `The Content-Encoding ${quoted(coding)} is not supported. Send the body uncompressed, without that header.`,
    { acceptEncoding: 'identity' },
  );
}

export const hasBody = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

/** Base of URLs in responses: the public URL, else the request's Host (only its sender reads it), else the address. */
export function baseUrl(publicUrl: string | null, { headers, socket }: FastifyRequest): string {
  if (publicUrl !== null) return publicUrl;
  if (headers.host) return `http://${headers.host}`;
  const { localAddress = '127.0.0.1', localPort = 80 } = socket;
  return `http://${localAddress.includes(':') ? `[${localAddress}]` : localAddress}:${localPort}`;
}
