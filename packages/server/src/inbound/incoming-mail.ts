import type { Readable } from 'node:stream';
import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { freeIfLarge, freeRead, LARGE_BYTES } from '../memory.ts';

/** Bytes left free in front of a message for its Received line, which has two host names of up to 255 letters. */
export const TRACE_HEADROOM_BYTES = 1024;
/** Memory for all messages in transfer, besides `FREE_BYTES` for each. Must hold one of the maximum size. */
export const IN_FLIGHT_BYTES = 64 * 1024 * 1024;
/** Bytes of each message that do not count: a socket may read them before backpressure can stop it. */
export const FREE_BYTES = 64 * 1024;
/** While a message waits for memory, messages that hold memory are rejected if they arrive more slowly than this. */
export const MIN_PROGRESS_BYTES_PER_SECOND = 32 * 1024;
/** Minimum rate of the one message that may exceed the budget (see {@link ByteBudget}): others wait for its end. */
export const MIN_OWNER_BYTES_PER_SECOND = 512 * 1024;
/** Time over which a rate is measured: long enough for a TCP retransmission. */
export const PROGRESS_WINDOW_MS = 3_000;

export interface Share {
  readonly source: string;
  /** Called if the message arrives too slowly while others wait for memory. Must reject it and release its memory. */
  revoke(): void;
  held: number;
  isComplete: boolean;
  /** `held` at the start of a measurement; undefined (not measured) if the share is newer or waited since. */
  before: number | undefined;
}

const pooled = (held: number): number => Math.max(0, held - FREE_BYTES);

/**
 * Limits the bytes of all messages that are being received or stored, over SMTP and HTTP together. Each
 * message has a share. One share at a time is the owner: memory for the largest message is reserved for it,
 * which prevents deadlocks. Of the other memory, no client may hold more than is free (dynamic threshold;
 * Choudhury and Hahne, 1998). While a message waits, shares that hold memory are revoked if they grow too slowly.
 */
export class ByteBudget {
  held = 0;
  readonly #options: { capacity: number; largest: number; clock: Pick<Clock, 'sleep'> };
  readonly #shares = new Set<Share>();
  readonly #waiting = new Map<Share, { bytes: number; granted(): void }>();
  readonly #sources = new Map<string, number>();
  #owner: Share | undefined;
  #pooled = 0;
  #watching: AbortController | undefined;

  constructor(options: { capacity: number; largest: number; clock: Pick<Clock, 'sleep'> }) {
    const { capacity, largest } = options;
    if (capacity < largest) throw new RangeError(`A budget of ${capacity} bytes cannot hold ${largest}.`);
    this.#options = options;
  }

  open(source: string, revoke: () => void): Share {
    const share = { source, revoke, held: 0, isComplete: false, before: undefined };
    this.#shares.add(share);
    return share;
  }

  /** @returns undefined if granted, else a promise that resolves when granted or when the share is closed */
  take(share: Share, bytes: number): Promise<void> | undefined {
    if (this.#fits(share, bytes) || this.#becomesOwner(share)) {
      this.#add(share, bytes);
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(share, { bytes, granted: resolve });
    void this.#watch();
    return promise;
  }

  /** Call this when the whole message has arrived: it needs no more memory. */
  complete(share: Share): void {
    share.isComplete = true;
    if (share !== this.#owner) return;
    this.#owner = undefined;
    this.#serveWaiting();
  }

  close(share: Share): void {
    if (!this.#shares.delete(share)) return;
    if (share === this.#owner) this.#owner = undefined;
    this.#waiting.get(share)?.granted();
    this.#waiting.delete(share);
    this.#add(share, -share.held);
    this.#serveWaiting();
  }

  #fits(share: Share, bytes: number): boolean {
    const more = pooled(share.held + bytes) - pooled(share.held);
    if (more === 0 || share === this.#owner) return true;
    const { capacity, largest } = this.#options;
    const ofOthers = this.#pooled - pooled(this.#owner?.held ?? 0);
    return this.#heldBy(share.source) + bytes <= capacity - largest - ofOthers - more;
  }

  #becomesOwner(share: Share): boolean {
    const { capacity, largest } = this.#options;
    if (this.#owner || this.#pooled - pooled(share.held) > capacity - largest) return false;
    this.#owner = share;
    return true;
  }

  #heldBy(source: string): number {
    const ofOwner = this.#owner?.source === source ? this.#owner.held : 0;
    return (this.#sources.get(source) ?? 0) - ofOwner;
  }

  #add(share: Share, bytes: number): void {
    this.#pooled += pooled(share.held + bytes) - pooled(share.held);
    this.held += bytes;
    share.held += bytes;
    const ofSource = (this.#sources.get(share.source) ?? 0) + bytes;
    if (ofSource > 0) this.#sources.set(share.source, ofSource);
    else this.#sources.delete(share.source);
  }

  #serveWaiting(): void {
    const rank = ([share]: [Share, unknown]) => this.#heldBy(share.source);
    for (const [share, { bytes, granted }] of [...this.#waiting].sort((a, b) => rank(a) - rank(b))) {
      if (!this.#fits(share, bytes) && !this.#becomesOwner(share)) continue;
      this.#waiting.delete(share);
      this.#add(share, bytes);
      share.before = undefined;
      granted();
    }
    if (this.#waiting.size === 0) this.#watching?.abort();
  }

  async #watch(): Promise<void> {
    if (this.#watching) return;
    while (this.#waiting.size > 0) {
      this.#watching = new AbortController();
      for (const share of this.#shares) share.before = share.held;
      await this.#options.clock.sleep(PROGRESS_WINDOW_MS, this.#watching.signal);
      if (this.#watching.signal.aborted) continue;
      for (const share of [...this.#shares])
        if (this.#waiting.size > 0 && this.#isSlow(share)) share.revoke();
    }
    this.#watching = undefined;
  }

  #isSlow(share: Share): boolean {
    const { held, before, isComplete } = share;
    if (pooled(held) === 0 || before === undefined || isComplete || this.#waiting.has(share)) return false;
    const minimum = share === this.#owner ? MIN_OWNER_BYTES_PER_SECOND : MIN_PROGRESS_BYTES_PER_SECOND;
    return (held - before) * 1000 < minimum * PROGRESS_WINDOW_MS;
  }
}

export interface IncomingMailOptions extends Pick<Share, 'source' | 'revoke'> {
  budget: ByteBudget;
  maxBytes: number;
}

const NOTHING = new Uint8Array();

/** The bytes of one message, in one buffer that counts against the budget. */
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

  /** @returns all bytes, with {@link TRACE_HEADROOM_BYTES} free in front; valid until {@link release} */
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

  /**
   * Most messages are one piece, so the first buffer fits exactly. Large messages get a resizable buffer, which
   * grows in small steps: nothing is copied, and {@link finish} need not give back half of it.
   */
  #grow(end: number): void {
    const maxByteLength = TRACE_HEADROOM_BYTES + this.#maxBytes;
    const capacity = this.length === 0 ? end : Math.min(end + Math.min(end, LARGE_BYTES), maxByteLength);
    const options = end < LARGE_BYTES ? {} : { maxByteLength };
    if (this.#bytes.buffer.resizable) this.#bytes.buffer.resize(capacity);
    else this.#move(new Uint8Array(new ArrayBuffer(capacity, options)));
  }

  #move(to: Uint8Array<ArrayBuffer>): void {
    to.set(this.#bytes.subarray(0, this.#end));
    this.#bytes = to;
  }
}

export const messageTooLarge = (limit: number): AppError =>
  new AppError(
    'message_too_large',
    `The message is larger than ${limit} bytes, the limit of the plan of the inbox's account. Send a smaller one.`,
  );

const interrupted = (): Error => new Error('The sender closed the connection before the end of the message.');

const tooSlow = (): AppError =>
  new AppError(
    'unavailable',
    'The body came too slowly while other messages waited for memory. Send it again in 30 seconds.',
    { retryAfterSeconds: 30 },
  );

/** If it fails, the stream stays open for a response. @throws AppError `message_too_large`, `unavailable` if too slow */
export async function readMessage(stream: Readable, options: Omit<IncomingMailOptions, 'revoke'>) {
  const stopped = Promise.withResolvers<never>();
  // Prevents an unhandled rejection while nothing awaits this promise.
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
      if (mail.length + piece.value.length > options.maxBytes) throw messageTooLarge(options.maxBytes);
      const granted = mail.append(piece.value);
      if (granted && stream.destroyed) throw interrupted();
      await Promise.race([granted, stopped.promise]);
      freeRead(piece.value);
    }
    mail.finish();
    return mail;
  } catch (error) {
    // Do not await this: it would wait for the next data of the client.
    void pieces.return?.();
    mail.release();
    throw error;
  } finally {
    stream.off('close', onClose);
  }
}
