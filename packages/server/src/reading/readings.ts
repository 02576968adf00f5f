import { type Clock, systemClock } from '../clock.ts';
import { unavailable } from '../database/failures.ts';
import { AppError } from '../errors.ts';
import type { EventBus } from '../events.ts';
import type { Logger } from '../log.ts';
import type { MailEnvelope } from '../mail/mail.ts';
import { encodeTrail, type TrailEvent, type TrailStep } from '../mail/trail.ts';
import { LARGE_BYTES } from '../memory.ts';
import type { Store } from '../store.ts';
import { FairQueue, type Flow, LARGE_MAIL_BYTES, type Parsing } from './parsing.ts';
import type { Authenticator } from './sender-checks/authenticator.ts';
import type { Reading, UnreadSource } from './sql.ts';

/** Bytes of accepted mails that are kept in memory until they are parsed; other mails are read back from the store. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;
/**
 * Limit of unparsed mails of one account: about ten seconds of the fastest sender, or minutes of mails that
 * are hard to parse.
 */
const MAX_BACKLOG_MAILS = 20_000;
const MAX_BACKLOG_BYTES = 512 * 1024 * 1024;
const BACKLOG = 'Too much mail of this account is not read yet. Send it again in 30 seconds.';
/** Mails up to LARGE_MAIL_BYTES that are loaded from the store concurrently, besides one larger mail. */
const MAX_LOADED = 4;
/** Pauses in which another node may finish parsing a mail that it received. After the last one, this node parses it. */
const OTHER_NODE_MS: readonly number[] = [5, 10, 20, 40, 80];
/** Interval of searches for mails that no node is parsing, because the node that received them has ended. */
const LOOK_MS = 60_000;
/**
 * Pause before the second search. Mails that are still unparsed then are abandoned; after the first search,
 * their node may still be parsing them.
 */
const SECOND_LOOK_MS = 2_000;
const LISTED = 1_000;
/** Numbers of sources reserved at a time: enough for a tenth of a second. */
const RESERVED = 500;

interface Mail {
  readonly raw: Uint8Array;
  readonly envelope: MailEnvelope;
  /** Whether the sender must be checked. */
  readonly checks: boolean;
}

/** A mail that is parsed while it is being stored. */
interface Begun {
  /** Call it when the mail is stored. @param isRead whether its parsed content was stored with it */
  committed(isRead: boolean): void;
  /** Call it when the mail was not stored. */
  cancel(): void;
}

interface Entry {
  source: number;
  size: number;
  flow: Flow;
  checks: boolean;
  done: PromiseWithResolvers<void>;
  isAwaited: boolean;
  /** Moves the mail before those that no caller awaits. */
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

/** Mails to load from the store: few concurrently, because each is loaded as a whole. */
interface Lane {
  readonly queue: FairQueue<Entry>;
  /** Number of further mails that may be loaded now. */
  free: number;
}

interface Deps {
  store: Pick<Store, 'readings'>;
  parsing: Pick<Parsing, 'parse'>;
  /** Null if senders are not checked. */
  authenticating: Pick<Authenticator, 'check'> | null;
  events: Pick<EventBus, 'publishDeliveries'>;
  clock: Clock;
  log: Logger;
  /** Whether other nodes use the same store and parse the mails that they receive. */
  isShared: boolean;
}

/**
 * Parses each accepted mail and stores the parsed content. The SMTP reply (250) does not wait for it, but every
 * operation of the store that needs it calls {@link ensure} first.
 */
export class Readings {
  readonly #deps: Deps;
  readonly #entries = new Map<number, Entry>();
  /** Unparsed mails per account, including mails that are being stored. */
  readonly #backlogs = new Map<string, Load>();
  readonly #small: Lane = { queue: new FairQueue(), free: MAX_LOADED };
  readonly #large: Lane = { queue: new FairQueue(), free: 1 };
  readonly #keeping = new Set<Promise<unknown>>();
  readonly #numbers: number[] = [];
  #reserving: Promise<void> | undefined;
  readonly #stopped = new AbortController();
  #keptBytes = 0;
  /** Sources that were unparsed at the last search. */
  #seen: ReadonlySet<number> = new Set();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Parses mails that an ended process left unparsed: now, and every {@link LOOK_MS}. */
  async start(): Promise<void> {
    const { clock, log } = this.#deps;
    const { signal } = this.#stopped;
    this.#reserveMore();
    for (let pause = SECOND_LOOK_MS; !signal.aborted; pause = LOOK_MS) {
      await this.#look().catch((err) => log.warn({ err }, 'Unread mails could not be listed'));
      await clock.sleep(pause, signal);
    }
  }

  async close(): Promise<void> {
    this.#stopped.abort();
    for (const { done } of this.#entries.values()) done.reject(unavailable('closed'));
    this.#entries.clear();
    await Promise.allSettled(this.#keeping);
  }

  /** Returns the number for a source that will be stored. @throws AppError `unavailable` */
  async reserve(): Promise<number> {
    for (;;) {
      if (this.#numbers.length < RESERVED / 2) this.#reserveMore();
      const source = this.#numbers.shift();
      if (source !== undefined) return source;
      await this.#reserving;
    }
  }

  #reserveMore(): void {
    this.#reserving ??= this.#deps.store.readings
      .reserve(RESERVED)
      .then((numbers) => void this.#numbers.push(...numbers))
      .finally(() => {
        this.#reserving = undefined;
      });
    // Prevents an unhandled rejection; a caller that awaits a number gets the error.
    this.#reserving.catch(() => undefined);
  }

  /** Begins to parse a mail before it is stored. @throws AppError `unavailable` if the account has too many unparsed mails */
  begin(source: number, mail: Mail, flow: Flow): Begun {
    const { raw, checks } = mail;
    const [accountId] = flow;
    const size = raw.length;
    this.#admit(accountId, size);
    // A large buffer cannot be kept, because it is transferred to the store, or freed with the commit.
    const isKept = raw.buffer.byteLength < LARGE_BYTES && this.#keptBytes + size <= MAX_KEPT_BYTES;
    if (isKept) this.#keptBytes += size;
    const leave = (): void => {
      this.#release(accountId, size);
      if (isKept) this.#keptBytes -= size;
    };
    const stopped = new AbortController();
    const entry = this.#add({ source, size, accountId, checks }, flow);
    entry.done.promise.then(leave, leave);
    if (isKept) this.#finish(entry, this.#read(mail, flow, stopped.signal), stopped.signal);
    return {
      committed: (isRead) => {
        if (isRead || (isKept && this.#entries.has(source)) || this.#stopped.signal.aborted) return;
        // The mail was not kept, or its parsed content reached the store before the mail and was ignored.
        this.#queue(isKept ? this.#add({ source, size, accountId, checks }, flow) : entry);
      },
      cancel: () => {
        stopped.abort();
        this.#entries.delete(source);
        entry.done.resolve();
      },
    };
  }

  /** Resolves when the parsed content of these sources is stored, or the sources are deleted. */
  async ensure(sources: readonly number[]): Promise<void> {
    const unknown = new Set(sources.filter((source) => !this.#entries.has(source)));
    const left = unknown.size > 0 ? await this.#awaitOthers([...unknown]) : [];
    left.forEach(this.#takeOver);
    const entries = sources.flatMap((source) => this.#entries.get(source) ?? []);
    for (const entry of entries) {
      entry.isAwaited = true;
      entry.hasten();
    }
    await Promise.all(entries.map(({ done }) => done.promise));
  }

  /** Waits until other nodes have parsed these mails. @returns the sources that this node must parse */
  async #awaitOthers(sources: readonly number[]): Promise<UnreadSource[]> {
    const { store, isShared } = this.#deps;
    if (!isShared) return store.readings.missing(sources);
    let left: UnreadSource[] = [];
    for (const pause of OTHER_NODE_MS) {
      // Uses the system clock even in tests, because another process is working meanwhile.
      await systemClock.sleep(pause, this.#stopped.signal);
      if (this.#stopped.signal.aborted) throw unavailable('closed');
      const wanted = sources.filter((source) => !this.#entries.has(source));
      left = wanted.length > 0 ? await store.readings.missing(wanted) : [];
      if (left.length === 0) return [];
    }
    return left;
  }

  /**
   * Takes over unparsed mails. If there are other nodes, only those that were unparsed at the last search
   * too, because a node may still be parsing the others.
   */
  async #look(): Promise<void> {
    const before = this.#seen;
    const seen = new Set<number>();
    this.#seen = seen;
    for (let after = 0; ; ) {
      const found = await this.#deps.store.readings.listUnread(after, LISTED);
      for (const one of found) {
        seen.add(one.source);
        if (!this.#deps.isShared || before.has(one.source)) this.#takeOver(one);
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

  readonly #takeOver = (unread: UnreadSource): void => {
    // The inbox of a mail that is loaded from the store is unknown.
    if (!this.#entries.has(unread.source)) this.#queue(this.#add(unread, [unread.accountId, '']));
  };

  #add({ source, size, checks }: UnreadSource, flow: Flow): Entry {
    const done = Promise.withResolvers<void>();
    // Prevents an unhandled rejection if no caller awaits it.
    done.promise.catch(() => undefined);
    const entry: Entry = { source, size, checks, flow, done, isAwaited: false, hasten: () => undefined };
    this.#entries.set(source, entry);
    return entry;
  }

  /** Queues a mail that must be loaded from the store. */
  #queue(entry: Entry): void {
    const lane = entry.size > LARGE_MAIL_BYTES ? this.#large : this.#small;
    lane.queue.add(entry, entry.flow);
    entry.hasten = () => lane.queue.hasten(entry, entry.flow);
    if (entry.isAwaited) entry.hasten();
    this.#loadNext(lane);
  }

  #loadNext(lane: Lane): void {
    while (lane.free > 0) {
      const next = lane.queue.shift();
      if (!next) return;
      lane.free -= 1;
      const work = this.#load(next);
      work.promise
        .catch(() => undefined)
        .finally(() => {
          lane.free += 1;
          this.#loadNext(lane);
        });
      this.#finish(next, work, this.#stopped.signal);
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

  #read({ raw, envelope, checks }: Mail, flow: Flow, signal: AbortSignal): Work {
    const { parsing, authenticating, clock } = this.#deps;
    const trail: TrailStep[] = [];
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
      // Stopping ends the workers, so the result may be incomplete. The mail is parsed after the next start.
      if (this.#stopped.signal.aborted) throw unavailable('closed');
      const summary = withVia(content.summary, envelope);
      return { ...content, summary, authentication, trail: encodeTrail(trail) };
    };
    return { promise: make(), hasten: () => hastening.abort() };
  }

  /** Stores the parsed content and resolves `entry.done`. @param signal aborted when the result is no longer needed */
  #finish(entry: Entry, work: Work, signal: AbortSignal): void {
    const { source, size, done } = entry;
    const { log, events, store } = this.#deps;
    entry.hasten = work.hasten;
    const finish = async (): Promise<void> => {
      const reading = await work.promise;
      if (!reading) return;
      const { keep, keepChecked } = store.readings;
      const kept = (reading.authentication ? keepChecked : keep)([{ ...reading, source, size }]);
      this.#keeping.add(kept);
      const due = await kept.finally(() => this.#keeping.delete(kept));
      if (due > 0) events.publishDeliveries();
    };
    finish()
      .finally(() => {
        if (this.#entries.get(source) === entry) this.#entries.delete(source);
      })
      .then(done.resolve, (err) => {
        done.reject(err);
        const isGivenUp = signal.aborted || this.#stopped.signal.aborted;
        if (!isGivenUp) log.warn({ err, source }, 'A mail could not be read; it is tried again');
      });
  }
}

/** Adds the provider of a mail to the JSON of its summary. */
const withVia = (summary: Uint8Array, { via }: MailEnvelope): Uint8Array =>
  via === undefined ? summary : Buffer.concat([Buffer.from(`{"via":"${via}",`), summary.subarray(1)]);
