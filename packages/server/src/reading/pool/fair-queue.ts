/** Names of nested groups, the outermost first: account, inbox. The groups within one group get equal shares. */
export type Flow = readonly string[];

interface Entry<T> {
  item: T;
  cost: number;
}

/**
 * A self-clocked fair queue (S. J. Golestani, INFOCOM 1994) over nested groups: a small job of a group that was not
 * served recently comes before large ones of busy groups. No job starves, because later jobs are due later.
 */
export class FairQueue<T> {
  private readonly root = new Group<T>(0);
  /** Items for whose result a caller waits; they come before all others. */
  private readonly awaited = new Group<T>(0);
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** @param cost in any unit that is the same for all items, such as bytes */
  add(item: T, flow: Flow, cost: number): void {
    this.root.add({ item, cost }, flow, 0);
    this.count += 1;
  }

  /** Moves a queued item before those for which no caller waits. */
  hasten(item: T, flow: Flow): void {
    const entry = this.root.remove(item, flow, 0);
    if (entry) this.awaited.add(entry, flow, 0);
  }

  peek(): T | undefined {
    return (this.awaited.next() ?? this.root.next())?.item;
  }

  shift(): T | undefined {
    const entry = this.awaited.shift() ?? this.root.shift();
    if (entry !== undefined) this.count -= 1;
    return entry?.item;
  }

  /** @returns false when the item is not queued */
  remove(item: T, flow: Flow): boolean {
    const removed = this.root.remove(item, flow, 0) ?? this.awaited.remove(item, flow, 0);
    if (removed) this.count -= 1;
    return removed !== undefined;
  }

  clear(): T[] {
    const all: T[] = [];
    for (let item = this.shift(); item !== undefined; item = this.shift()) all.push(item);
    return all;
  }
}

/** A group of the queue. It has subgroups or, at the innermost level, items. */
class Group<T> {
  /** Virtual time of the parent when it last served this group. */
  start: number;
  private readonly entries: Entry<T>[] = [];
  private readonly groups = new Map<string, Group<T>>();
  /** Virtual time: the cost at which the item served last was due. */
  private served = 0;

  constructor(start: number) {
    this.start = start;
  }

  get isEmpty(): boolean {
    return this.entries.length === 0 && this.groups.size === 0;
  }

  add(entry: Entry<T>, flow: Flow, level: number): void {
    const name = flow[level];
    if (name === undefined) {
      this.entries.push(entry);
      return;
    }
    const group = this.groups.get(name) ?? new Group<T>(this.served);
    this.groups.set(name, group);
    group.add(entry, flow, level + 1);
  }

  next(): Entry<T> | undefined {
    return this.entries[0] ?? this.dueGroup()?.next;
  }

  shift(): Entry<T> | undefined {
    if (this.entries.length > 0) return this.entries.shift();
    const due = this.dueGroup();
    if (due === undefined) return undefined;
    const { name, group, time } = due;
    const entry = group.shift();
    this.served = time;
    group.start = time;
    if (group.isEmpty) this.groups.delete(name);
    return entry;
  }

  remove(item: T, flow: Flow, level: number): Entry<T> | undefined {
    const name = flow[level];
    if (name === undefined) {
      const at = this.entries.findIndex((entry) => entry.item === item);
      return at < 0 ? undefined : this.entries.splice(at, 1)[0];
    }
    const group = this.groups.get(name);
    const removed = group?.remove(item, flow, level + 1);
    if (group?.isEmpty) this.groups.delete(name);
    return removed;
  }

  private dueGroup(): { name: string; group: Group<T>; next: Entry<T>; time: number } | undefined {
    let due: { name: string; group: Group<T>; next: Entry<T>; time: number } | undefined;
    for (const [name, group] of this.groups) {
      const next = group.next();
      const time = group.start + (next?.cost ?? 0);
      if (next !== undefined && (due === undefined || time < due.time)) due = { name, group, next, time };
    }
    return due;
  }
}
