import type { IncomingMessage } from 'node:http';
import { sourceKey } from '../../inbound/source-key.ts';
import { WakeQueue } from '../../messages/held/wake-queue.ts';

/** Smaller chunks of a body are joined. */
const SMALL_BYTES = 512;
/** Small chunks of all connections in one turn of the event loop: a few milliseconds of work. */
const MAX_IN_TURN = 2_048;

/** A body in the chunked coding that is still being received. */
interface Arriving {
  /** Whether its connection is read only when it is its turn. */
  isInTurns: boolean;
  /** Stops reading its connection until it is its turn. */
  hold(): void;
}

/**
 * Joins the small chunks of bodies in the chunked coding (RFC 9112 section 7.1) that arrive in one turn of the event
 * loop. Each of a million chunks of one byte would otherwise pass the stream by itself: seconds of work, and 500
 * times its size in memory.
 *
 * What the system has for a connection, 64 KiB, may still be ten thousand chunks, and Node reads all connections that
 * have data in one turn. So when there are too many chunks in a turn, no other body is read any more in this turn;
 * from then on one of them is read in each turn, by client addresses in rotation.
 */
export class SmallChunks {
  readonly #arriving = new Set<Arriving>();
  readonly #turns = new WakeQueue(1);
  #inTurn = 0;

  /** @param request of which no part of the body was read yet */
  join(request: IncomingMessage): void {
    if (request.headers['transfer-encoding'] === undefined) return;
    // Kept, because a stream of the body that fails may take the socket from the request.
    const { socket } = request;
    const source = sourceKey(socket.remoteAddress);
    const [push, read] = [request.push.bind(request), request._read.bind(request)];
    const resume = (): void => void socket.resume();
    const readOn = (): void => {
      if (!request.destroyed) read(0);
    };
    const arriving: Arriving = {
      isInTurns: false,
      hold: () => {
        arriving.isInTurns = true;
        if (socket.isPaused()) return;
        socket.pause();
        this.#turns.add(source, resume);
      },
    };
    let waiting: Uint8Array[] = [];
    const flush = (): void => {
      const joined = waiting;
      waiting = [];
      if (joined.length > 0 && !request.destroyed) push(Buffer.concat(joined));
    };
    this.#arriving.add(arriving);
    request.once('close', () => this.#arriving.delete(arriving));
    request._read = (size) => {
      if (arriving.isInTurns) this.#turns.add(source, readOn);
      else read(size);
    };
    request.push = (chunk: Uint8Array | null, encoding) => {
      if (chunk === null || chunk.length >= SMALL_BYTES) {
        if (chunk === null) this.#arriving.delete(arriving);
        flush();
        return push(chunk, encoding);
      }
      if (waiting.length === 0) setImmediate(flush);
      waiting.push(chunk);
      this.#count(arriving);
      // The socket is read no further before the stream is read again.
      return !arriving.isInTurns;
    };
  }

  #count(arriving: Arriving): void {
    if (this.#inTurn === 0) {
      setImmediate(() => {
        this.#inTurn = 0;
      });
    }
    this.#inTurn++;
    if (this.#inTurn <= MAX_IN_TURN) return;
    arriving.isInTurns = true;
    if (this.#inTurn > MAX_IN_TURN + 1) return;
    for (const other of this.#arriving) if (other !== arriving) other.hold();
  }
}
