import type { Readable } from 'node:stream';
import { AppError } from '../../errors.ts';
import { freeRead } from '../../memory.ts';
import type { ByteBudget } from './byte-budget.ts';
import { MailBuffer } from './mail-buffer.ts';
import type { Share, ShareOwner } from './share.ts';

/** When a sender that was too slow may try again: memory for the largest message is free by then. */
const RETRY_AFTER_SECONDS = 30;

/** A message in memory. */
export interface ReadMessage {
  /** With TRACE_HEADROOM_BYTES free in front of them; good until {@link release}. */
  bytes: Uint8Array;
  /** Releases the memory and the share of the budget. */
  release(): void;
}

export interface ReadLimits {
  /** Bytes that the message may have. */
  limit: number;
  /** Makes the error for a message above the limit. */
  tooLarge(limit: number): Error;
  /** Shared by all messages in flight: a reader that has to wait does not read on. */
  budget: ByteBudget;
  owner: ShareOwner;
}

const interrupted = (): Error => new Error('The sender closed the connection before the end of the message.');

const tooSlow = (): AppError =>
  new AppError(
    'unavailable',
    `The body came too slowly while other messages waited for memory. Send it again in ${RETRY_AFTER_SECONDS} seconds.`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );

/** What may end or continue the reading of a message besides its bytes. */
class Gate {
  readonly share: Share;
  readonly #stream: Readable;
  readonly #stopped = Promise.withResolvers<never>();
  #granted: PromiseWithResolvers<void> | undefined;

  constructor(stream: Readable, { budget, owner }: ReadLimits) {
    this.#stream = stream;
    // It may be rejected when nothing waits for it.
    this.#stopped.promise.catch(() => undefined);
    stream.once('close', this.#onClose);
    this.share = budget.open(owner, {
      resume: () => this.#granted?.resolve(),
      revoke: () => this.#stopped.reject(tooSlow()),
    });
  }

  readonly #onClose = (): void => {
    const { readableEnded, errored } = this.#stream;
    if (!readableEnded) this.#stopped.reject(errored instanceof AppError ? errored : interrupted());
  };

  /** Waits for a promise, or rejects when the sender has gone or is too slow. */
  race<T>(promise: Promise<T>): Promise<T> {
    return Promise.race([promise, this.#stopped.promise]);
  }

  async take(bytes: number): Promise<void> {
    if (this.share.take(bytes)) return;
    if (this.#stream.destroyed) throw interrupted();
    this.#granted = Promise.withResolvers();
    await this.race(this.#granted.promise);
  }

  end(): void {
    this.#stream.off('close', this.#onClose);
  }
}

/**
 * Reads a whole message from a stream under a size limit and the common budget. A stream that is not read to
 * its end is left open, so that its sender can read an answer.
 * @throws what `tooLarge` makes; AppError `unavailable` when it comes too slowly while others wait; an Error
 *   when the stream ends early
 */
export async function readMessage(stream: Readable, limits: ReadLimits): Promise<ReadMessage> {
  const { limit, tooLarge } = limits;
  const buffer = new MailBuffer(limit);
  const gate = new Gate(stream, limits);
  const release = (): void => {
    buffer.clear();
    gate.share.close();
  };
  const pieces: AsyncIterator<Buffer> = stream.iterator({ destroyOnReturn: false });
  try {
    for (let next = await gate.race(pieces.next()); !next.done; next = await gate.race(pieces.next())) {
      if (buffer.length + next.value.length > limit) throw tooLarge(limit);
      await gate.take(next.value.length);
      buffer.append(next.value);
      if (buffer.hasCopied) freeRead(next.value);
    }
    gate.share.complete();
    return { bytes: buffer.finish(), release };
  } catch (error) {
    // Not awaited: it settles after a read that may still be waiting for the sender.
    void pieces.return?.();
    release();
    throw error;
  } finally {
    gate.end();
  }
}
