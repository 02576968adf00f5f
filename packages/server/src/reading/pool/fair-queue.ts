/** Account and inbox: accounts take turns, and within an account its inboxes. */
export type Flow = readonly [accountId: string, inboxId: string];

/** Serves an item of each account in turn, so that an account waits for at most one item of each other account. */
class Turns<T> {
  /** In the order of the turns, as are the inboxes of each account. */
  private readonly accounts = new Map<string, Map<string, T[]>>();

  add(item: T, [accountId, inboxId]: Flow): void {
    const inboxes = this.accounts.get(accountId) ?? new Map<string, T[]>();
    const items = inboxes.get(inboxId) ?? [];
    items.push(item);
    inboxes.set(inboxId, items);
    this.accounts.set(accountId, inboxes);
  }

  next(): { item: T; flow: Flow } | undefined {
    for (const [accountId, inboxes] of this.accounts) {
      for (const [inboxId, [item]] of inboxes) {
        if (item !== undefined) return { item, flow: [accountId, inboxId] };
      }
    }
    return undefined;
  }

  /** Ends the turn of its account and inbox. @returns false when the item is not queued */
  remove(item: T, [accountId, inboxId]: Flow): boolean {
    const inboxes = this.accounts.get(accountId);
    const items = inboxes?.get(inboxId);
    const at = items?.indexOf(item) ?? -1;
    if (!inboxes || !items || at < 0) return false;
    items.splice(at, 1);
    inboxes.delete(inboxId);
    if (items.length > 0) inboxes.set(inboxId, items);
    this.accounts.delete(accountId);
    if (inboxes.size > 0) this.accounts.set(accountId, inboxes);
    return true;
  }
}

/** Serves items for whose result a caller waits before all others, and both kinds in turns. */
export class FairQueue<T> {
  private readonly awaited = new Turns<T>();
  private readonly others = new Turns<T>();
  private count = 0;

  get size(): number {
    return this.count;
  }

  add(item: T, flow: Flow): void {
    this.others.add(item, flow);
    this.count += 1;
  }

  /** Moves a queued item before those for which no caller waits. */
  hasten(item: T, flow: Flow): void {
    if (this.others.remove(item, flow)) this.awaited.add(item, flow);
  }

  peek(): T | undefined {
    return (this.awaited.next() ?? this.others.next())?.item;
  }

  shift(): T | undefined {
    const next = this.awaited.next() ?? this.others.next();
    if (next) this.remove(next.item, next.flow);
    return next?.item;
  }

  /** @returns false when the item is not queued */
  remove(item: T, flow: Flow): boolean {
    const isRemoved = this.others.remove(item, flow) || this.awaited.remove(item, flow);
    if (isRemoved) this.count -= 1;
    return isRemoved;
  }
}
