import type { Readable } from 'node:stream';
import type { ByteBudget } from './byte-budget.ts';
import { MailBuffer } from './mail-buffer.ts';

/** A message in memory. */
export interface ReadMessage {
  /** With TRACE_HEADROOM_BYTES free in front of them; good until {@link release}. */
  bytes: Uint8Array;
  /** Gives the memory and the share of the budget back. */
  release(): void;
}

export interface ReadLimits {
  /** Bytes that the message may have. */
  limit: number;
  /** Makes the error for a message above the limit. */
  tooLarge(limit: number): Error;
  /** Shared by all mails in flight: a reader that has to wait does not read on. */
  budget: ByteBudget;
}

/** Waits for the budget, or for the end of a stream whose sender has gone. */
function createGate(stream: Readable) {
  let waiting: PromiseWithResolvers<void> | undefined;
  const interrupted = (): Error =>
    new Error('the sender closed the connection before the end of the message');
  const onClose = (): void => waiting?.reject(interrupted());
  stream.once('close', onClose);
  return {
    open: (): void => waiting?.resolve(),
    async wait(): Promise<void> {
      if (stream.destroyed) throw interrupted();
      waiting = Promise.withResolvers();
      await waiting.promise;
      waiting = undefined;
    },
    end: (): void => {
      stream.off('close', onClose);
    },
  };
}

/**
 * Reads a whole message from a stream under a size limit and the common budget. A stream that is not read to
 * its end is left open, so that its sender can read an answer.
 * @throws what `tooLarge` makes; an Error when the stream ends early
 */
export async function readMessage(
  stream: Readable,
  { limit, tooLarge, budget }: ReadLimits,
): Promise<ReadMessage> {
  const buffer = new MailBuffer(limit);
  const gate = createGate(stream);
  const share = budget.open(gate.open);
  const release = (): void => {
    buffer.clear();
    share.close();
  };
  try {
    for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (buffer.length + piece.length > limit) throw tooLarge(limit);
      if (!share.take(piece.length)) await gate.wait();
      buffer.append(piece);
    }
    return { bytes: buffer.finish(), release };
  } catch (error) {
    release();
    throw error;
  } finally {
    gate.end();
  }
}
