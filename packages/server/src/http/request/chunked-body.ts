import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';

const joinedBodies = new WeakMap<IncomingMessage, Readable>();

/** The stream from which the body of a request is read. */
export const bodyOf = (request: IncomingMessage): Readable => joinedBodies.get(request) ?? request;

/** Keeps no more of a body that nobody reads any more; what still arrives is dropped. */
export const dropChunks = (request: IncomingMessage): void => void joinedBodies.get(request)?.destroy();

/**
 * Joins the chunks of a body in the chunked coding (RFC 9112 section 7.1) that arrive in one turn of the event loop.
 * Each of a million chunks of one byte would otherwise wait in memory by itself, which takes 450 times its size.
 * @param request of which no part of the body was read yet
 * @param count called for each chunk
 */
export function joinChunks(request: IncomingMessage, count: () => void): void {
  if (request.headers['transfer-encoding'] === undefined) return;
  // Kept, because a stream of the body that fails may take the socket from the request.
  const { socket } = request;
  let chunks: Buffer[] = [];
  const resume = (): void => void socket.resume();
  const body = new Readable({
    read: resume,
    destroy(error, done) {
      // The client gets its response when it has sent all, which nobody reads any more.
      resume();
      done(error);
    },
  });
  const flush = (): void => {
    const [first, ...others] = chunks;
    chunks = [];
    if (first && !body.destroyed && !body.push(others.length > 0 ? Buffer.concat([first, ...others]) : first))
      socket.pause();
  };
  request.on('data', (chunk: Buffer) => {
    count();
    if (!body.destroyed && chunks.push(chunk) === 1) setImmediate(flush);
  });
  request.once('end', () => {
    flush();
    body.push(null);
  });
  request.once('error', (error) => body.destroy(error));
  // A body that nobody reads (any more) may fail as well.
  body.on('error', () => undefined);
  joinedBodies.set(request, body);
}
