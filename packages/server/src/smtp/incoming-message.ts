import type { ByteBudget } from '../inbound/in-flight/byte-budget.ts';
import { MailBuffer } from '../inbound/in-flight/mail-buffer.ts';
import type { Share, ShareEvents, ShareOwner } from '../inbound/in-flight/share.ts';

export interface IncomingMessageOptions {
  budget: ByteBudget;
  owner: ShareOwner;
  events: ShareEvents;
  /** Monotonic milliseconds. */
  now: number;
}

/** The bytes of one message that is being received or stored, under the budget of all messages in flight. */
export class IncomingMessage {
  /** When DATA was accepted, monotonic milliseconds. */
  readonly begunAt: number;
  readonly #buffer: MailBuffer;
  readonly #share: Share;
  #waiting: Uint8Array | undefined;

  /**
   * @param maxBytes the size it may have
   * @param events `resume` is called once for each {@link append} that returned false, when more may be
   *   appended
   */
  constructor(maxBytes: number, { budget, owner, events, now }: IncomingMessageOptions) {
    this.begunAt = now;
    this.#buffer = new MailBuffer(maxBytes);
    const resume = (): void => {
      if (this.#waiting) this.#buffer.append(this.#waiting);
      this.#waiting = undefined;
      events.resume();
    };
    this.#share = budget.open(owner, { resume, revoke: events.revoke });
  }

  /** @returns false when the budget grants no bytes now: append nothing more until `resume` is called */
  append(bytes: Uint8Array): boolean {
    if (this.#share.take(bytes.length)) {
      this.#buffer.append(bytes);
      return true;
    }
    this.#waiting = bytes;
    return false;
  }

  /** Whether the memory of what was appended is not needed any more. */
  get hasCopied(): boolean {
    return this.#buffer.hasCopied && !this.#waiting;
  }

  get length(): number {
    return this.#buffer.length;
  }

  /** All bytes, good until {@link release}. */
  finish(): Uint8Array {
    this.#share.complete();
    return this.#buffer.finish();
  }

  /** Releases the memory and the share of the budget. */
  release(): void {
    this.#waiting = undefined;
    this.#buffer.clear();
    this.#share.close();
  }
}
