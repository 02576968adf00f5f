/** Each costs 50 to 150 µs (a response or a write to a stream), so other requests wait half a millisecond at most. */
const WAKES_PER_TURN = 4;

/** Resumes held requests, one account after the other, so that an account with many of them delays no other. */
export class WakeQueue {
  /** In the order of the turns; the wake-ups of an account are called oldest first. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #scheduled = false;

  /** Calls `wake` once, however often it is added before. */
  add(accountId: string, wake: () => void): void {
    const ofAccount = this.#waiting.get(accountId);
    if (ofAccount) ofAccount.add(wake);
    else this.#waiting.set(accountId, new Set([wake]));
    this.#schedule();
  }

  cancel(accountId: string, wake: () => void): void {
    const ofAccount = this.#waiting.get(accountId);
    if (ofAccount?.delete(wake) && ofAccount.size === 0) this.#waiting.delete(accountId);
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (let n = 0; n < WAKES_PER_TURN; n++) this.#wakeNext();
      this.#schedule();
    });
  }

  #wakeNext(): void {
    const [next] = this.#waiting;
    if (!next) return;
    const [accountId, ofAccount] = next;
    this.#waiting.delete(accountId);
    const [wake] = ofAccount;
    if (!wake) return;
    ofAccount.delete(wake);
    // At the end, so that every other account has its turn first.
    if (ofAccount.size > 0) this.#waiting.set(accountId, ofAccount);
    wake();
  }
}
