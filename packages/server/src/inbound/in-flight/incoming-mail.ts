import type { Readable } from 'node:stream';
import { AppError } from '../../errors.ts';
import { freeIfLarge, freeRead, LARGE_BYTES } from '../../memory.ts';
import { TRACE_HEADROOM_BYTES } from '../delivery.ts';
import type { ByteBudget, Share } from './byte-budget.ts';

export interface IncomingMailOptions extends Pick<Share, 'source' | 'revoke'> {
  budget: ByteBudget;
  maxBytes: number;
}

const NOTHING = new Uint8Array();

/** The bytes of one message that is being received or stored, in one buffer, under the budget. */
export class IncomingMail {
  readonly #budget: ByteBudget;
  readonly #share: Share;
  readonly #maxBytes: number;
  #bytes = NOTHING;
  #end = TRACE_HEADROOM_BYTES;
  #isReleased = false;

  constructor({ budget, source, maxBytes, revoke }: IncomingMailOptions) {
    this.#budget = budget;
    this.#share = budget.open(source, revoke);
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#end - TRACE_HEADROOM_BYTES;
  }

  /** Copies a piece. @returns a promise if there is backpressure: do not append more until it resolves */
  append(piece: Uint8Array): Promise<void> | undefined {
    const granted = this.#budget.take(this.#share, piece.length);
    if (granted) return granted.then(() => this.#copy(piece));
    this.#copy(piece);
    return undefined;
  }

  /** @returns all bytes, with {@link TRACE_HEADROOM_BYTES} free in front of them; valid until {@link release} */
  finish(): Uint8Array {
    this.#budget.complete(this.#share);
    const { buffer } = this.#bytes;
    if (buffer.resizable) buffer.resize(this.#end);
    else if (buffer.byteLength !== this.#end) this.#move(new Uint8Array(this.#end));
    return this.#bytes.subarray(TRACE_HEADROOM_BYTES, this.#end);
  }

  release(): void {
    this.#isReleased = true;
    this.#budget.close(this.#share);
    freeIfLarge(this.#bytes);
    this.#bytes = NOTHING;
  }

  #copy(piece: Uint8Array): void {
    if (this.#isReleased) return;
    const end = this.#end + piece.length;
    if (end > this.#bytes.length) this.#grow(end);
    this.#bytes.set(piece, this.#end);
    this.#end = end;
  }

  /** The first piece gets its exact size, because most messages come in one; large messages get a resizable buffer. */
  #grow(end: number): void {
    const maxByteLength = TRACE_HEADROOM_BYTES + this.#maxBytes;
    const capacity = this.length === 0 ? end : Math.min(2 * end, maxByteLength);
    const options = end < LARGE_BYTES ? {} : { maxByteLength };
    if (this.#bytes.buffer.resizable) this.#bytes.buffer.resize(capacity);
    else this.#move(new Uint8Array(new ArrayBuffer(capacity, options)));
  }

  #move(to: Uint8Array<ArrayBuffer>): void {
    to.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = to;
  }
}

const interrupted = (): Error => new Error('The sender closed the connection before the end of the message.');

const tooSlow = (): AppError =>
  new AppError(
    'unavailable',
    'The body came too slowly while other messages waited for memory. Send it again in 30 seconds.',
    { retryAfterSeconds: 30 },
  );

/** On failure the stream stays open for a response. @throws `tooLarge()`; AppError `unavailable` if it is too slow */
export async function readMessage(
  stream: Readable,
  tooLarge: (maxBytes: number) => Error,
  options: Omit<IncomingMailOptions, 'revoke'>,
): Promise<IncomingMail> {
  const stopped = Promise.withResolvers<never>();
  // Prevents an unhandled rejection when nothing awaits it.
  stopped.promise.catch(() => undefined);
  const onClose = (): void => {
    const { readableEnded, errored } = stream;
    if (!readableEnded) stopped.reject(errored instanceof AppError ? errored : interrupted());
  };
  stream.once('close', onClose);
  const mail = new IncomingMail({ ...options, revoke: () => stopped.reject(tooSlow()) });
  const pieces: AsyncIterator<Buffer> = stream.iterator({ destroyOnReturn: false });
  const next = () => Promise.race([pieces.next(), stopped.promise]);
  try {
    for (let piece = await next(); !piece.done; piece = await next()) {
      if (mail.length + piece.value.length > options.maxBytes) throw tooLarge(options.maxBytes);
      const granted = mail.append(piece.value);
      if (granted && stream.destroyed) throw interrupted();
      await Promise.race([granted, stopped.promise]);
      freeRead(piece.value);
    }
    mail.finish();
    return mail;
  } catch (error) {
    // Not awaited, because it waits for a pending read of the client's data.
    void pieces.return?.();
    mail.release();
    throw error;
  } finally {
    stream.off('close', onClose);
  }
}
