/**
 * Bytes of mails being received or not yet committed, of all SMTP sessions and HTTP requests together; the
 * largest mail must fit. A mail in flight is in memory once, and once more while it is parsed; what the
 * sockets of senders who have to wait have read already comes on top.
 */
export const IN_FLIGHT_BYTES = 64 * 1024 * 1024;

/** One mail's share of a {@link ByteBudget}. */
export interface Share {
  /** Bytes that count now. */
  readonly held: number;
  /** True while asked-for bytes are not granted; then nothing more may be asked for. */
  readonly waiting: boolean;
  /**
   * Asks for more. True: granted. False: the caller must stop reading until `resume` is called, by
   * which time the bytes are granted.
   * @throws RangeError when the share would grow past the budget's largest mail
   */
  take(bytes: number): boolean;
  /** Gives everything back; a wait is given up. Safe to call twice. */
  close(): void;
}

/**
 * Bounds the bytes of all mails in flight without a deadlock: room for one mail of the largest size
 * is kept for the oldest share, which is therefore never refused, and the others split the rest, the
 * older first. So the sum never passes the capacity, and the oldest always gets on.
 */
export class ByteBudget {
  readonly #capacity: number;
  readonly #largest: number;
  /** In the order of their opening, which a Set keeps. */
  readonly #shares = new Set<OpenShare>();
  #oldest: OpenShare | undefined;
  #held = 0;
  #waiting = 0;

  /**
   * @param capacity bytes of all shares together
   * @param largest bytes that one share may come to
   * @throws RangeError when `capacity` is less than `largest`
   */
  constructor(capacity: number, largest: number) {
    if (capacity < largest) throw new RangeError(`a budget of ${capacity} cannot hold a mail of ${largest}`);
    this.#capacity = capacity;
    this.#largest = largest;
  }

  /** Bytes of all shares together. */
  get held(): number {
    return this.#held;
  }

  /** @param resume called once for each `take` that answered false, unless the share is closed before */
  open(resume: () => void): Share {
    const share = new OpenShare(this, resume);
    this.#shares.add(share);
    this.#oldest ??= share;
    return share;
  }

  /** For {@link Share}. */
  take(share: OpenShare, bytes: number): boolean {
    if (share.wanted > 0 || !this.#shares.has(share))
      throw new Error('a share that waits or is closed asked');
    if (share.held + bytes > this.#largest) throw new RangeError(`a mail past ${this.#largest} bytes`);
    if (this.#fits(share, bytes) && !this.#isBehindAnother(share)) {
      this.#grant(share, bytes);
      return true;
    }
    share.wanted = bytes;
    this.#waiting++;
    return false;
  }

  #fits(share: OpenShare, bytes: number): boolean {
    if (share === this.#oldest) return true;
    const others = this.#held - (this.#oldest?.held ?? 0);
    return others + bytes <= this.#capacity - this.#largest;
  }

  #isBehindAnother(share: OpenShare): boolean {
    if (this.#waiting === 0) return false;
    for (const other of this.#shares) {
      if (other === share) return false;
      if (other.wanted > 0) return true;
    }
    return false;
  }

  #grant(share: OpenShare, bytes: number): void {
    share.held += bytes;
    this.#held += bytes;
  }

  /** For {@link Share}. */
  close(share: OpenShare): void {
    if (!this.#shares.delete(share)) return;
    this.#held -= share.held;
    share.held = 0;
    if (share.wanted > 0) {
      share.wanted = 0;
      this.#waiting--;
    }
    if (share === this.#oldest) this.#oldest = this.#shares.values().next().value;
    if (this.#waiting > 0) this.#serveWaiting();
  }

  #serveWaiting(): void {
    const served: OpenShare[] = [];
    for (const share of this.#shares) {
      if (share.wanted === 0) continue;
      if (!this.#fits(share, share.wanted)) break;
      this.#grant(share, share.wanted);
      share.wanted = 0;
      this.#waiting--;
      served.push(share);
    }
    for (const share of served) share.resume();
  }
}

class OpenShare implements Share {
  held = 0;
  wanted = 0;
  readonly resume: () => void;
  readonly #budget: ByteBudget;

  constructor(budget: ByteBudget, resume: () => void) {
    this.#budget = budget;
    this.resume = resume;
  }

  get waiting(): boolean {
    return this.wanted > 0;
  }

  take(bytes: number): boolean {
    return this.#budget.take(this, bytes);
  }

  close(): void {
    this.#budget.close(this);
  }
}
