/** Scheduling key: accounts take turns, and the inboxes within an account do too. */
export type Flow = readonly [accountId: string, inboxId: string];

interface Queued {
  readonly flow: Flow;
}

/** Serves one item of each account in turn, so that an account waits for at most one item of each other account. */
class Turns<T extends Queued> {
  /** In the order of the turns; the inboxes within an account likewise. */
  readonly #accounts = new Map<string, Map<string, Set<T>>>();

  add(item: T): void {
    const [accountId, inboxId] = item.flow;
    const inboxes = this.#accounts.get(accountId) ?? new Map<string, Set<T>>();
    this.#accounts.set(accountId, inboxes);
    inboxes.set(inboxId, (inboxes.get(inboxId) ?? new Set()).add(item));
  }

  has(item: T): boolean {
    const [accountId, inboxId] = item.flow;
    return this.#accounts.get(accountId)?.get(inboxId)?.has(item) ?? false;
  }

  next(): T | undefined {
    const [inboxes] = this.#accounts.values();
    const [items] = inboxes?.values() ?? [];
    const [item] = items ?? [];
    return item;
  }

  /** Removes an item, and moves its inbox and account to the end of the turns. @returns false if it is not queued */
  remove(item: T): boolean {
    const [accountId, inboxId] = item.flow;
    const inboxes = this.#accounts.get(accountId);
    const items = inboxes?.get(inboxId);
    if (!inboxes || !items?.delete(item)) return false;
    inboxes.delete(inboxId);
    if (items.size > 0) inboxes.set(inboxId, items);
    this.#accounts.delete(accountId);
    if (inboxes.size > 0) this.#accounts.set(accountId, inboxes);
    return true;
  }
}

/** Serves items that a caller awaits before all others; within both kinds, accounts take turns. */
export class FairQueue<T extends Queued> {
  readonly #awaited = new Turns<T>();
  readonly #others = new Turns<T>();

  add(item: T): void {
    this.#others.add(item);
  }

  /** Moves a queued item before those that no caller awaits. */
  hasten(item: T): void {
    if (this.#others.remove(item)) this.#awaited.add(item);
  }

  isAwaited(item: T): boolean {
    return this.#awaited.has(item);
  }

  /** The item to be served next, which stays queued. */
  next(): T | undefined {
    return this.#awaited.next() ?? this.#others.next();
  }

  remove(item: T): boolean {
    return this.#awaited.remove(item) || this.#others.remove(item);
  }
}
