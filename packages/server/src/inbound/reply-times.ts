/** Messages of which the time is known; a hundred bytes each. Timelines are read soon after a message came. */
const MAX_KNOWN = 10_000;

/**
 * When the senders of the newest messages got their 250. It is in memory, because the reply follows the commit: to
 * store its time would take a second write for each message, and few timelines are read.
 */
export class ReplyTimes {
  readonly #times = new Map<string, number>();

  /** @param at epoch milliseconds */
  add(messageIds: readonly string[], at: number): void {
    for (const id of messageIds) this.#times.set(id, at);
    for (const oldest of this.#times.keys()) {
      if (this.#times.size <= MAX_KNOWN) break;
      this.#times.delete(oldest);
    }
  }

  /** @returns null where it is not known: of an older message, or of one that another process received */
  of(messageId: string): number | null {
    return this.#times.get(messageId) ?? null;
  }
}
