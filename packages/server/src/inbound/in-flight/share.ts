/**
 * Granted to each message at once. A socket's read buffer is as large, so making the sender wait would save
 * nothing. Bounded by the number of connections.
 */
export const FREE_BYTES = 64 * 1024;
/** How long progress is measured: long enough for a retransmission, short enough for those who wait. */
export const PROGRESS_WINDOW_MS = 3_000;

/** Whose message it is; memory is shared fairly between the values of each. */
export interface ShareOwner {
  /** As `sourceKey` of source-key.ts returns it. */
  source: string;
  /** The account of the first recipient; '' where there is none. */
  account: string;
}

export interface ShareEvents {
  /** Called once for each `take` that returned false, unless the share is closed before. */
  resume(): void;
  /** The message came too slowly while others waited: its sender is to be sent away and the share closed. */
  revoke(): void;
}

/** One message's share of the memory; see byte-budget.ts. */
export interface Share {
  /** Bytes that count now. */
  readonly held: number;
  /** True while requested bytes are not granted; then nothing more may be requested. */
  readonly waiting: boolean;
  /**
   * Requests more bytes. True: granted. False: the caller must stop reading until `resume` is called, by
   * which time the bytes are granted.
   * @throws RangeError when the share would grow past the largest message
   */
  take(bytes: number): boolean;
  /** The whole message is here: it is not slow any more, and needs no more memory. */
  complete(): void;
  /** Releases everything, and cancels a wait. Safe to call twice. */
  close(): void;
}

/** What a source or an account holds. */
export interface Group {
  key: string;
  /** It may hold so many times what is free. */
  factor: number;
  shares: number;
  /** Above the free bytes of each share; the owner's bytes do not count. */
  pooled: number;
  /** When a share of it became the owner: a count that grows. */
  lastTurn: number;
}

/** What shares take their bytes from: the budget. */
export interface ShareMemory {
  take(share: OpenShare, bytes: number): boolean;
  complete(share: OpenShare): void;
  close(share: OpenShare): void;
}

/** The bytes of a share that come out of the capacity. */
export const pooledOf = (held: number): number => Math.max(0, held - FREE_BYTES);

/** A share as the budget sees it. */
export class OpenShare implements Share {
  held = 0;
  wanted = 0;
  isComplete = false;
  readonly groups: readonly Group[];
  readonly events: ShareEvents;
  readonly #memory: ShareMemory;
  /** When its progress began to be measured, and what it held then. */
  #window: { since: number; held: number };

  constructor(memory: ShareMemory, groups: readonly Group[], events: ShareEvents, now: number) {
    this.#memory = memory;
    this.groups = groups;
    this.events = events;
    this.#window = { since: now, held: 0 };
  }

  get waiting(): boolean {
    return this.wanted > 0;
  }

  get pooled(): number {
    return pooledOf(this.held);
  }

  get sourcePooled(): number {
    return this.groups[0]?.pooled ?? 0;
  }

  startWindow(now: number): void {
    this.#window = { since: now, held: this.held };
  }

  /**
   * Whether it holds memory and received less than so many bytes a second since its window began. Begins the
   * next window.
   */
  isSlower(bytesPerSecond: number, now: number): boolean {
    if (this.pooled === 0 || this.isComplete || this.waiting) return false;
    const elapsed = now - this.#window.since;
    if (elapsed < PROGRESS_WINDOW_MS) return false;
    const received = this.held - this.#window.held;
    this.startWindow(now);
    return received * 1000 < bytesPerSecond * elapsed;
  }

  take(bytes: number): boolean {
    return this.#memory.take(this, bytes);
  }

  complete(): void {
    this.#memory.complete(this);
  }

  close(): void {
    this.#memory.close(this);
  }
}
