import type { IncomingMessage } from 'node:http';
import { dropChunks } from './chunked-body.ts';

/**
 * Reads and drops the rest of a body, so that the connection can be used for the next request.
 * @param maxBytes the body is not read further than this
 * @param done called once, with true when the whole body has arrived or the client is gone
 */
export function discardBody(
  request: IncomingMessage,
  maxBytes: number,
  done: (isRead: boolean) => void,
): void {
  let left = maxBytes;
  const finish = (isRead: boolean): void => {
    request.off('data', count).off('end', atEnd).off('close', atEnd);
    if (!isRead) request.pause();
    done(isRead);
  };
  const count = (bytes: Buffer): void => {
    left -= bytes.length;
    if (left < 0) finish(false);
  };
  const atEnd = (): void => finish(true);
  request.on('data', count).once('end', atEnd).once('close', atEnd);
  dropChunks(request);
  if (request.readableEnded || request.destroyed) finish(true);
}
