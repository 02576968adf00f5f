import { type Clock, systemClock } from '../clock.ts';
import { unavailable } from '../database/failures.ts';
import { AppError } from '../errors.ts';
import type { EventBus } from '../events.ts';
import type { Logger } from '../log.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import { encodeTrail, type Trail, type TrailEvent } from '../mail/trail.ts';
import { LARGE_BYTES } from '../memory.ts';
import type { Store } from '../store.ts';
import { Batcher } from '../workers/batcher.ts';
import { FairQueue } from './pool/fair-queue.ts';
import { LARGE_MAIL_BYTES, type Parsing } from './pool/parser-pool.ts';
import type { Authenticator } from './sender-checks/authenticator.ts';
import type { Reading, ReadingOf } from './sources.ts';
import type { UnreadSource } from './sql.ts';

/** Bytes of accepted mails that are kept in memory until they are read; others are read from the store. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;
/** Unread mails of one account: about ten seconds of the fastest sender, or minutes of mails that are hard to read. */
const MAX_BACKLOG_MAILS = 20_000;
const MAX_BACKLOG_BYTES = 512 * 1024 * 1024;
const BACKLOG = 'Too much mail of this account is not read yet. Send it again in 30 seconds.';
/** Mails up to LARGE_MAIL_BYTES that are read from the store at the same time, beside one that is larger. */
const MAX_LOADED = 4;
/** How long another node's reading of its own mail is waited for, in steps. */
const OTHER_NODE_MS: readonly number[] = [5, 10, 20, 40, 80];
/** How often mails are looked for that nobody reads, because their node ended. */
const LOOK_MS = 60_000;
/** After the first look, which cannot tell them from those that other nodes are reading. */
const SECOND_LOOK_MS = 2_000;
const LISTED = 1_000;

/** A mail before its commit, which may take over the reading if it is made by then. */
export interface Accepted {
  readonly raw: Uint8Array;
  readonly envelope: MailEnvelope;
  /** Whether the sender is to be checked. */
  readonly checks: boolean;
  reading?: Reading | undefined;
}

/** Whose turn it is. */
export interface Owner {
  accountId: string;
  inboxId: string;
}

/** The reading of a mail that is being stored. */
export interface Begun {
  /** The mail is committed: its reading is stored as soon as it is made, if it was not stored with it. */
  committed(source: number, isRead: boolean): void;
  /** The mail was not stored. */
  cancel(): void;
}

interface Entry {
  source: number;
  size: number;
  accountId: string;
  flow: readonly [accountId: string, inboxId: string];
  checks: boolean;
  done: PromiseWithResolvers<void>;
  /** Moves the work to the front. */
  hasten(): void;
}

interface Work {
  promise: Promise<Reading | undefined>;
  hasten(): void;
}

interface Load {
  mails: number;
  bytes: number;
}

/** Mails that are to be read from the store: each is in memory as a whole. */
interface Lane {
  readonly awaited: FairQueue<Entry>;
  readonly others: FairQueue<Entry>;
  /** How many may be loaded. */
  free: number;
}

const laneOf = (free: number): Lane => ({ awaited: new FairQueue(), others: new FairQueue(), free });

interface Deps {
  store: Pick<Store, 'readings'>;
  parsing: Pick<Parsing, 'parse'>;
  /** Null where senders are not checked. */
  authenticating: Pick<Authenticator, 'check'> | null;
  events: Pick<EventBus, 'publishDeliveries'>;
  clock: Clock;
  log: Logger;
  /** Whether other nodes use the same store, and read what they accepted. */
  isShared: boolean;
}

/**
 * Makes the index of each accepted mail. The 250 does not wait for it, but everybody who is answered from it does:
 * {@link ensure} is the gate behind all operations of the store.
 */
export class Readings {
  readonly #deps: Deps;
  readonly #entries = new Map<number, Entry>();
  /** Of accounts, also of mails that are being stored. */
  readonly #backlogs = new Map<string, Load>();
  readonly #small = laneOf(MAX_LOADED);
  readonly #large = laneOf(1);
  readonly #relaxed: Batcher<ReadingOf, null>;
  readonly #checked: Batcher<ReadingOf, null>;
  readonly #stopped = new AbortController();
  #keptBytes = 0;
  /** Unread sources at the last look. */
  #seen: ReadonlySet<number> = new Set();

  constructor(deps: Deps) {
    this.#deps = deps;
    const { readings } = deps.store;
    const bytesOf = ({ content }: ReadingOf): number => content.length;
    this.#relaxed = new Batcher((all) => this.#keep(all, readings.keep), { bytesOf });
    this.#checked = new Batcher((all) => this.#keep(all, readings.keepChecked), { bytesOf });
  }

  /** Number of mails that are to be read. */
  get backlog(): number {
    return this.#entries.size;
  }

  /** Reads what a process that ended has left, now and from time to time. */
  async start(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#stopped;
    for (let pause = SECOND_LOOK_MS; !signal.aborted; pause = LOOK_MS) {
      await this.#look().catch((err) => log.warn({ err }, 'Unread mails could not be listed'));
      await clock.sleep(pause, signal);
    }
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    for (const { done } of this.#entries.values()) done.reject(unavailable('closed'));
    this.#entries.clear();
    await Promise.all([this.#relaxed.flushed(), this.#checked.flushed()]);
  }

  /** @throws AppError `unavailable` if the account has too many unread mails */
  begin(mail: Accepted, { accountId, inboxId }: Owner): Begun {
    const { raw, checks } = mail;
    const size = raw.length;
    const flow = [accountId, inboxId] as const;
    this.#admit(accountId, size);
    // A large buffer is given to the store, or freed with the commit.
    const isKept = raw.buffer.byteLength < LARGE_BYTES && this.#keptBytes + size <= MAX_KEPT_BYTES;
    if (isKept) this.#keptBytes += size;
    const stopped = new AbortController();
    const work = isKept ? this.#read(mail, flow, stopped.signal) : undefined;
    const leave = (): void => {
      this.#release(accountId, size);
      if (isKept) this.#keptBytes -= size;
    };
    work?.promise.then(
      (reading) => {
        mail.reading = reading;
      },
      () => undefined,
    );
    return {
      committed: (source, isRead) => {
        if (isRead) return leave();
        const known = this.#entries.get(source);
        const entry = known ?? this.#add({ source, size, accountId, checks }, flow);
        entry.done.promise.then(leave, leave);
        if (known) return;
        if (work) this.#finish(entry, work);
        else this.#queue(entry);
      },
      cancel() {
        stopped.abort();
        leave();
      },
    };
  }

  /** The gate: resolves when these sources have stored readings, or are gone. */
  async ensure(sources: readonly number[]): Promise<void> {
    const unknown = new Set(sources.filter((source) => !this.#entries.has(source)));
    const left = unknown.size > 0 ? await this.#awaitOthers([...unknown]) : [];
    for (const one of left) if (!this.#entries.has(one.source)) this.#queue(this.#add(one, flowOf(one)));
    const entries = sources.flatMap((source) => this.#entries.get(source) ?? []);
    for (const entry of entries) entry.hasten();
    await Promise.all(entries.map(({ done }) => done.promise));
  }

  /** Waits for readings by other nodes. @returns the sources that are left to this one */
  async #awaitOthers(sources: readonly number[]): Promise<UnreadSource[]> {
    const { store, isShared } = this.#deps;
    if (!isShared) return store.readings.missing(sources);
    let left: UnreadSource[] = [];
    for (const pause of OTHER_NODE_MS) {
      // By the machine's time, because another process works meanwhile.
      await systemClock.sleep(pause, this.#stopped.signal);
      if (this.#stopped.signal.aborted) throw unavailable('closed');
      const wanted = sources.filter((source) => !this.#entries.has(source));
      left = wanted.length > 0 ? await store.readings.missing(wanted) : [];
      if (left.length === 0) return [];
    }
    return left;
  }

  /** With other nodes, it takes over only what was unread at the last look as well. */
  async #look(): Promise<void> {
    const before = this.#seen;
    const seen = new Set<number>();
    this.#seen = seen;
    for (let after = 0; ; ) {
      const found = await this.#deps.store.readings.listUnread(after, LISTED);
      for (const one of found) {
        seen.add(one.source);
        const isLeft = !this.#deps.isShared || before.has(one.source);
        if (isLeft && !this.#entries.has(one.source)) this.#queue(this.#add(one, flowOf(one)));
      }
      const last = found.at(-1)?.source;
      if (last === undefined || found.length < LISTED) return;
      after = last;
    }
  }

  #admit(accountId: string, bytes: number): void {
    const load = this.#backlogs.get(accountId) ?? { mails: 0, bytes: 0 };
    if (load.mails >= MAX_BACKLOG_MAILS || load.bytes + bytes > MAX_BACKLOG_BYTES)
      throw new AppError('unavailable', BACKLOG, { retryAfterSeconds: 30 });
    load.mails += 1;
    load.bytes += bytes;
    this.#backlogs.set(accountId, load);
  }

  #release(accountId: string, bytes: number): void {
    const load = this.#backlogs.get(accountId);
    if (!load) return;
    load.mails -= 1;
    load.bytes -= bytes;
    if (load.mails === 0) this.#backlogs.delete(accountId);
  }

  #add(unread: UnreadSource, flow: Entry['flow']): Entry {
    const done = Promise.withResolvers<void>();
    // Prevents an unhandled rejection when nobody waits.
    done.promise.catch(() => undefined);
    const entry: Entry = { ...unread, flow, done, hasten: () => undefined };
    this.#entries.set(unread.source, entry);
    return entry;
  }

  /** Adds it to those that are read from the store, in turns by account and inbox. */
  #queue(entry: Entry): void {
    const lane = entry.size > LARGE_MAIL_BYTES ? this.#large : this.#small;
    lane.others.add(entry, entry.flow, entry.size);
    entry.hasten = () => {
      if (lane.others.remove(entry, entry.flow)) lane.awaited.add(entry, entry.flow, entry.size);
    };
    this.#loadNext(lane);
  }

  #loadNext(lane: Lane): void {
    while (lane.free > 0) {
      const next = lane.awaited.shift() ?? lane.others.shift();
      if (!next) return;
      lane.free -= 1;
      const work = this.#load(next);
      work.promise
        .catch(() => undefined)
        .finally(() => {
          lane.free += 1;
          this.#loadNext(lane);
        });
      this.#finish(next, work);
    }
  }

  #load(entry: Entry): Work {
    const { source, flow, checks } = entry;
    let begun: Work | undefined;
    const load = async (): Promise<Reading | undefined> => {
      const found = await this.#deps.store.readings.load(source);
      if (!found) return undefined;
      begun = this.#read({ ...found, checks }, flow, this.#stopped.signal);
      return begun.promise;
    };
    return { promise: load(), hasten: () => begun?.hasten() };
  }

  #read({ raw, envelope, checks }: Accepted, flow: Entry['flow'], signal: AbortSignal): Work {
    const { parsing, authenticating, clock } = this.#deps;
    const trail: Trail[number][] = [];
    const noted = <T>(event: TrailEvent, value: T): T => {
      if (value !== null) trail.push({ event, at: clock.now() });
      return value;
    };
    const hastening = new AbortController();
    const parsed = parsing.parse(raw, { flow, signal, hastening: hastening.signal });
    const checked = (checks && authenticating?.check(envelope, raw, signal)) || null;
    const make = async (): Promise<Reading | undefined> => {
      const [content, authentication] = await Promise.all([
        parsed.then((value) => noted('parsed', value)),
        checked?.then((value) => noted('sender-checked', value)) ?? null,
      ]);
      // A stop ends the workers, whose mails are read after the next start.
      if (this.#stopped.signal.aborted) throw unavailable('closed');
      return { ...content, authentication, trail: encodeTrail(trail) };
    };
    return { promise: make(), hasten: () => hastening.abort() };
  }

  /** Stores the reading of a committed mail and opens the gate. */
  #finish(entry: Entry, work: Work): void {
    const { source, size, done } = entry;
    entry.hasten = work.hasten;
    const finish = async (): Promise<void> => {
      const reading = await work.promise;
      if (!reading) return;
      const kept = { ...reading, source, size };
      await (reading.authentication ? this.#checked : this.#relaxed).add(kept);
    };
    finish()
      .finally(() => this.#entries.delete(source))
      .then(done.resolve, (err) => {
        done.reject(err);
        if (!this.#stopped.signal.aborted)
          this.#deps.log.warn({ err, source }, 'A mail could not be read; it is tried again');
      });
  }

  async #keep(all: ReadingOf[], keep: (all: ReadingOf[]) => Promise<number>): Promise<null[]> {
    const due = await keep(all);
    if (due > 0) this.#deps.events.publishDeliveries();
    return all.map(() => null);
  }
}

/** The inbox is unknown here: the account's mails take turns as one. */
const flowOf = ({ accountId }: UnreadSource): Entry['flow'] => [accountId, ''];
