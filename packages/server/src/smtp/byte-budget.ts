/** One mail's share of a {@link ByteBudget}. */
export interface Lease {
  /** Bytes that count now. */
  readonly held: number;
  /** True while asked-for bytes are not granted; then nothing more may be asked for. */
  readonly waiting: boolean;
  /**
   * Asks for more. True: granted. False: the caller must stop reading until `resume` is called, by
   * which time the bytes are granted.
   * @throws RangeError when the lease would grow past the budget's largest mail
   */
  take(bytes: number): boolean;
  /** Gives everything back; a wait is given up. Safe to call twice. */
  close(): void;
}

/**
 * Bounds the bytes of all mails in flight without a deadlock: room for one mail of the largest size
 * is kept for the oldest lease, which is therefore never refused, and the others share the rest, the
 * older first. So the sum never passes the capacity, and the oldest always gets on.
 */
export class ByteBudget {
  readonly #capacity: number;
  readonly #largest: number;
  /** In the order of their opening, which a Set keeps. */
  readonly #leases = new Set<OpenLease>();
  #oldest: OpenLease | undefined;
  #held = 0;
  #waiting = 0;

  /**
   * @param capacity bytes of all leases together
   * @param largest bytes that one lease may come to
   * @throws RangeError when `capacity` is less than `largest`
   */
  constructor(capacity: number, largest: number) {
    if (capacity < largest) throw new RangeError(`a budget of ${capacity} cannot hold a mail of ${largest}`);
    this.#capacity = capacity;
    this.#largest = largest;
  }

  /** Bytes of all leases together. */
  get held(): number {
    return this.#held;
  }

  /** @param resume called once for each `take` that answered false, unless the lease is closed before */
  open(resume: () => void): Lease {
    const lease = new OpenLease(this, resume);
    this.#leases.add(lease);
    this.#oldest ??= lease;
    return lease;
  }

  /** For {@link Lease}. */
  take(lease: OpenLease, bytes: number): boolean {
    if (lease.wanted > 0 || !this.#leases.has(lease))
      throw new Error('a lease that waits or is closed asked');
    if (lease.held + bytes > this.#largest) throw new RangeError(`a mail past ${this.#largest} bytes`);
    if (this.#fits(lease, bytes) && !this.#isBehindAnother(lease)) {
      this.#grant(lease, bytes);
      return true;
    }
    lease.wanted = bytes;
    this.#waiting++;
    return false;
  }

  #fits(lease: OpenLease, bytes: number): boolean {
    if (lease === this.#oldest) return true;
    const others = this.#held - (this.#oldest?.held ?? 0);
    return others + bytes <= this.#capacity - this.#largest;
  }

  #isBehindAnother(lease: OpenLease): boolean {
    if (this.#waiting === 0) return false;
    for (const other of this.#leases) {
      if (other === lease) return false;
      if (other.wanted > 0) return true;
    }
    return false;
  }

  #grant(lease: OpenLease, bytes: number): void {
    lease.held += bytes;
    this.#held += bytes;
  }

  /** For {@link Lease}. */
  close(lease: OpenLease): void {
    if (!this.#leases.delete(lease)) return;
    this.#held -= lease.held;
    lease.held = 0;
    if (lease.wanted > 0) {
      lease.wanted = 0;
      this.#waiting--;
    }
    if (lease === this.#oldest) this.#oldest = this.#leases.values().next().value;
    if (this.#waiting > 0) this.#serveWaiting();
  }

  #serveWaiting(): void {
    const served: OpenLease[] = [];
    for (const lease of this.#leases) {
      if (lease.wanted === 0) continue;
      if (!this.#fits(lease, lease.wanted)) break;
      this.#grant(lease, lease.wanted);
      lease.wanted = 0;
      this.#waiting--;
      served.push(lease);
    }
    for (const lease of served) lease.resume();
  }
}

class OpenLease implements Lease {
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
