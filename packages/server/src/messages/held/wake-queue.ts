/**
 * How many held requests resume in one turn of the event loop. Each costs 50 to 150 µs (a response, or a
 * write to a stream), so other requests wait half a millisecond at most.
 */
const WAKES_PER_TURN = 4;

/**
 * Resumes held requests after a change: a few in each turn of the event loop, one account after the other,
 * so that an account with a thousand of them delays no other account.
 */
export class WakeQueue {
  readonly #perTurn: number;
  /** Accounts in the order of their turns; each with its waiting wake-ups, oldest first. */
  readonly #waiting = new Map<string, Set<() => void>>();
  #scheduled = false;

  /** @param perTurn how many are called in one turn of the event loop */
  constructor(perTurn = WAKES_PER_TURN) {
    this.#perTurn = perTurn;
  }

  /** Calls `wake` soon, and once however often it is added before that. */
  add(accountId: string, wake: () => void): void {
    const ofAccount = this.#waiting.get(accountId);
    if (ofAccount) ofAccount.add(wake);
    else this.#waiting.set(accountId, new Set([wake]));
    this.#schedule();
  }

  /** Does nothing if `wake` is not waiting. */
  cancel(accountId: string, wake: () => void): void {
    const ofAccount = this.#waiting.get(accountId);
    if (ofAccount?.delete(wake) && ofAccount.size === 0) this.#waiting.delete(accountId);
  }

  #schedule(): void {
    if (this.#scheduled || this.#waiting.size === 0) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      for (let n = 0; n < this.#perTurn; n++) this.#wakeNext();
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
    // At the end: every other account has its turn first.
    if (ofAccount.size > 0) this.#waiting.set(accountId, ofAccount);
    wake();
  }
}
