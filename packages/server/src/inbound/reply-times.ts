/** Messages of which the time is known, at least; twice as many at most. Timelines are read soon after a message came. */
const MIN_KNOWN = 10_000;

/**
 * When the senders of the newest messages got their 250. It is in memory, because the reply follows the commit: to
 * store its time would take a second write for each message, and few timelines are read.
 */
export class ReplyTimes {
  /** Two maps, of which the older one is dropped as a whole: deleting the oldest of a map one by one is slow. */
  #newer = new Map<string, number>();
  #older = new Map<string, number>();

  /** @param at epoch milliseconds */
  add(messageIds: readonly string[], at: number): void {
    if (this.#newer.size >= MIN_KNOWN) {
      this.#older = this.#newer;
      this.#newer = new Map();
    }
    for (const id of messageIds) this.#newer.set(id, at);
  }

  /** @returns null where it is not known: of an older message, or of one that another process received */
  of(messageId: string): number | null {
    return this.#newer.get(messageId) ?? this.#older.get(messageId) ?? null;
  }
}
