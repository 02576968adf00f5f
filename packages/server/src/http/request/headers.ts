import type { FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import { quoted } from '../../nearest.ts';

/** How many Host fields a request has. Node keeps the first of several, and a proxy before it may use another. */
function hostFields(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

/**
 * Checks the header fields that concern every request.
 * @throws AppError `invalid_request` for a missing or repeated Host (RFC 9112 section 3.2),
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
  const coding = headers['content-encoding'];
  if (coding === undefined || coding.toLowerCase() === 'identity') return;
  throw new AppError(
    'unsupported_media_type',
    `The Content-Encoding ${quoted(coding)} is not supported. Send the body uncompressed, without that header.`,
    { acceptEncoding: 'identity' },
  );
}

/** True for a request that has a body, whether it has arrived or not (RFC 9112 section 6.3). */
export const hasBody = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
