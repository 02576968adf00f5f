import type { IncomingMessage } from 'node:http';

/** Smaller chunks of a body are joined. */
const SMALL_BYTES = 512;
/** Chunks that wait to be joined, beyond which the socket is read no further: a few milliseconds of work. */
const MAX_WAITING = 2_048;

/**
 * Joins the small chunks of a body in the chunked coding (RFC 9112 section 7.1) that arrive in one turn of the event
 * loop. Each of a million chunks of one byte would otherwise pass the stream by itself: seconds of work, and 500
 * times its size in memory.
 * @param request of which no part of the body was read yet
 */
export function joinSmallChunks(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return;
  const push = request.push.bind(request);
  let waiting: Uint8Array[] = [];
  const flush = (): void => {
    const joined = waiting;
    waiting = [];
    if (joined.length > 0 && !request.destroyed) push(Buffer.concat(joined));
  };
  request.push = (chunk: Uint8Array | null, encoding) => {
    if (chunk === null || chunk.length >= SMALL_BYTES) {
      flush();
      return push(chunk, encoding);
    }
    if (waiting.length === 0) setImmediate(flush);
    waiting.push(chunk);
    return waiting.length < MAX_WAITING;
  };
}
