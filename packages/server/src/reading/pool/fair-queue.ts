/**
 * Whose work it is, from the widest group to the narrowest: account, source address, connection. Turns are
 * shared between the groups of each level, so 1,000 connections of one account get what one of another gets.
 */
export type Flow = readonly string[];

interface Entry<T> {
  item: T;
  cost: number;
}

/**
 * A queue that serves groups of jobs in turn and not first come, first served (self-clocked fair queueing;
 * S. J. Golestani, INFOCOM 1994). A job is due after its group was given its cost: while twenty groups wait
 * with a megabyte each, a job of two kilobytes from another group is next. No job waits for ever, since what
 * comes later is due later.
 */
export class FairQueue<T> {
  private readonly root = new Group<T>(0);
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** @param cost in any unit that is the same for all items, such as bytes */
  add(item: T, flow: Flow, cost: number): void {
    this.root.add({ item, cost }, flow, 0);
    this.count += 1;
  }

  /** The item that {@link shift} would return. */
  peek(): T | undefined {
    return this.root.next()?.item;
  }

  shift(): T | undefined {
    const entry = this.root.shift();
    if (entry !== undefined) this.count -= 1;
    return entry?.item;
  }

  /** Takes an item out; false when it is not there. */
  remove(item: T, flow: Flow): boolean {
    const isRemoved = this.root.remove(item, flow, 0);
    if (isRemoved) this.count -= 1;
    return isRemoved;
  }

  /** Takes all items out. */
  clear(): T[] {
    const all: T[] = [];
    for (let item = this.shift(); item !== undefined; item = this.shift()) all.push(item);
    return all;
  }
}

/** One group, with the groups within it, or with items where there are none. */
class Group<T> {
  /** Cost of what the group it is in had served when this group had its last turn. */
  start: number;
  private readonly entries: Entry<T>[] = [];
  private readonly groups = new Map<string, Group<T>>();
  /** When the last item that was served was due. */
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

  remove(item: T, flow: Flow, level: number): boolean {
    const name = flow[level];
    if (name === undefined) {
      const at = this.entries.findIndex((entry) => entry.item === item);
      if (at >= 0) this.entries.splice(at, 1);
      return at >= 0;
    }
    const group = this.groups.get(name);
    const isRemoved = group?.remove(item, flow, level + 1) ?? false;
    if (group?.isEmpty) this.groups.delete(name);
    return isRemoved;
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
