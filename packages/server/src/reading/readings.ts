import { type Clock, systemClock } from '../clock.ts';
import { unavailable } from '../database/failures.ts';
import { AppError } from '../errors.ts';
import type { EventBus } from '../events.ts';
import type { Logger } from '../log.ts';
import type { MailAuthentication, MailEnvelope } from '../mail/mail.ts';
import { encodeTrail, type TrailEvent, type TrailStep } from '../mail/trail.ts';
import { copyInTurns, LARGE_BYTES } from '../memory.ts';
import type { Store } from '../store.ts';
import { type Flow, hasten, JOBS_PER_WORKER, Turns, type Urgency } from './parse-pool.ts';
import { PARSE_THREADS, type Parsing } from './parsing.ts';
import type { Authenticator } from './sender-checks/authenticator.ts';
import type { UnreadSource } from './sql.ts';

/** With PostgreSQL, this much unparsed mail stays in memory: loading it takes a quarter more CPU time per mail. */
const MAX_KEPT_BYTES = 32 * 1024 * 1024;
/** Limits of unparsed mail per account. The fastest sender reaches them in ten seconds. */
const MAX_BACKLOG_MAILS = 20_000;
const MAX_BACKLOG_BYTES = 512 * 1024 * 1024;
const BACKLOG = 'Too much mail of this account is not read yet. Send it again in 30 seconds.';
/** Mails that are parsed at a time, besides those that a caller awaits: as many as keep the workers busy. */
export const MAX_LANES = JOBS_PER_WORKER * PARSE_THREADS;
/**
 * Parsing and SMTP compete for the CPU. So parsing of further mails is deferred until no mail has arrived for
 * QUIET_MS, or until one of these limits is reached. A mail is not deferred if a caller awaits its content.
 */
const MAX_BURST_MAILS = 10_000;
/** Parsing them takes one to two seconds. */
const MAX_BURST_BYTES = 64 * 1024 * 1024;
const QUIET_MS = 20;
/** Pauses before each check for the other node's result. After the last check, this node parses the mail. */
const OTHER_NODE_MS: readonly number[] = [5, 10, 20, 40, 80];
/** The pauses on a single node, where a mail may be requested between its commit and `committed`. */
const OWN_COMMIT_MS: readonly number[] = [1, 5, 20];
/** Interval of searches for mails that a node received but did not parse before it stopped. */
const LOOK_MS = 60_000;
/** Delay of the second search. A mail that two searches find was probably left by a node that has stopped. */
const SECOND_LOOK_MS = 2_000;
const LISTED = 1_000;

interface Mail {
  readonly raw: Uint8Array;
  readonly envelope: MailEnvelope;
  readonly checks: boolean;
}

interface Entry {
  /** `seq` of the stored source; 0 until the mail is stored. */
  source: number;
  done: PromiseWithResolvers<void>;
  urgency: Urgency;
  /** True after the mail was parsed, its parsing failed, or storing it was cancelled. */
  isOver: boolean;
}

function newEntry(source = 0): Entry {
  const entry = { source, done: Promise.withResolvers<void>(), urgency: { isAwaited: false }, isOver: false };
  // Prevents an unhandled rejection if no caller awaits the promise.
  entry.done.promise.catch(() => undefined);
  return entry;
}

/** Thrown to end the parsing of a mail whose source was deleted or never stored. */
const GONE = new Error('The source does not exist.');

interface Deps {
  store: Pick<Store, 'readings'>;
  parsing: Pick<Parsing, 'parse'>;
  authenticating: Pick<Authenticator, 'check'> | null;
  events: Pick<EventBus, 'publishDeliveries'>;
  clock: Clock;
  log: Logger;
  /** Whether other nodes use the same store. Each node parses the mails that it has received itself. */
  isShared: boolean;
}

/** Parses accepted mails. SMTP replies do not wait for this. Call {@link ensure} before reading content. */
export class Readings {
  readonly #deps: Deps;
  readonly #entries = new Map<number, Entry>();
  readonly #backlogs = new Map<string, { mails: number; bytes: number }>();
  readonly #keeping = new Set<Promise<unknown>>();
  readonly #stopped = new AbortController();
  #unreadBytes = 0;
  readonly #storing = new Set<Entry>();
  readonly #deferred = new Turns<{ flow: Flow; read(): Promise<unknown> }>();
  #lanes = 0;
  /** Monotonic milliseconds of the last arrival. */
  #arrivedAt = Number.NEGATIVE_INFINITY;
  #seen: ReadonlySet<number> = new Set();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Parses mails that a process left unparsed: at the start, after `SECOND_LOOK_MS`, then every `LOOK_MS`. */
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
    const closed = unavailable('closed');
    for (const { done } of [...this.#entries.values(), ...this.#storing]) done.reject(closed);
    this.#entries.clear();
    await Promise.allSettled(this.#keeping);
  }

  /**
   * Begins to parse a mail before it is stored. Call `committed` when it is stored, and `cancel` if it is not.
   * @throws AppError `unavailable` if the backlog is full
   */
  begin(mail: Mail, flow: Flow) {
    const { length: size, buffer } = mail.raw;
    this.#admit(flow[0], size);
    // The parser cannot use a large buffer: it is transferred to the store thread, or freed after the commit.
    const isLarge = buffer.byteLength >= LARGE_BYTES;
    let kept = isLarge ? undefined : mail;
    const unread = { size, checks: Number(mail.checks) };
    const entry = newEntry();
    entry.done.promise.finally(() => this.#release(flow[0], size)).catch(() => undefined);
    this.#storing.add(entry);
    this.#arrivedAt = systemClock.monotonic();
    const stored = Promise.withResolvers<void>();
    if (!isLarge) this.#defer(entry, flow, () => this.#read(entry, unread, flow, kept, stored.promise));
    return {
      /** @param isAwaited whether a webhook or a caller waits for the result */
      committed: (source: number, isAwaited = false): void => {
        this.#storing.delete(entry);
        entry.source = source;
        stored.resolve();
        if (isAwaited) hasten(entry.urgency);
        if (!this.#deps.isShared || this.#unreadBytes > MAX_KEPT_BYTES) kept = undefined;
        if (this.#stopped.signal.aborted) return;
        // If parsing failed before the commit, the mail is parsed again.
        const current = entry.isOver ? newEntry(source) : entry;
        this.#entries.set(source, current);
        if (isLarge || current !== entry) void this.#read(current, unread, flow);
      },
      cancel: (): void => {
        this.#storing.delete(entry);
        entry.isOver = true;
        kept = undefined;
        stored.resolve();
        entry.done.resolve();
      },
    };
  }

  /** Resolves when the parsed content of each source is stored, unless the source was deleted. */
  async ensure(sources: readonly number[]): Promise<void> {
    const unknown = new Set(sources.filter((source) => !this.#entries.has(source)));
    const left = unknown.size > 0 ? await this.#awaitOthers([...unknown]) : [];
    left.forEach(this.#takeOver);
    const entries = sources.flatMap((source) => this.#entries.get(source) ?? []);
    for (const { urgency } of entries) hasten(urgency);
    await Promise.all(entries.map(({ done }) => done.promise));
  }

  /** Waits for the node that stored these mails to parse them. @returns the sources that are still unparsed */
  async #awaitOthers(sources: readonly number[]): Promise<UnreadSource[]> {
    const { store, isShared } = this.#deps;
    let left: UnreadSource[] = [];
    for (const pause of isShared ? OTHER_NODE_MS : OWN_COMMIT_MS) {
      // Uses the system clock even in tests: a fake clock does not control the other node's process.
      await systemClock.sleep(pause, this.#stopped.signal);
      if (this.#stopped.signal.aborted) throw unavailable('closed');
      const wanted = sources.filter((source) => !this.#entries.has(source));
      left = wanted.length > 0 ? await store.readings.missing(wanted) : [];
      if (left.length === 0) return [];
    }
    return left;
  }

  /** Parses mails that two searches found. A single node needs one search, unless it is storing mail. */
  async #look(): Promise<void> {
    const before = this.#seen;
    const seen = new Set<number>();
    this.#seen = seen;
    for (let after = 0; ; ) {
      const found = await this.#deps.store.readings.listUnread(after, LISTED);
      const mayTakeNew = !this.#deps.isShared && this.#storing.size === 0;
      for (const one of found) {
        seen.add(one.source);
        if (mayTakeNew || before.has(one.source)) this.#takeOver(one);
      }
      const last = found.at(-1)?.source;
      if (last === undefined || found.length < LISTED) return;
      after = last;
    }
  }

  #isBurst(): boolean {
    if (this.#stopped.signal.aborted) return false;
    const isQuiet = this.#storing.size === 0 && systemClock.monotonic() - this.#arrivedAt >= QUIET_MS;
    const mails = this.#entries.size + this.#storing.size;
    return !isQuiet && mails < MAX_BURST_MAILS && this.#unreadBytes < MAX_BURST_BYTES;
  }

  /** Calls `read` now if a lane is free or a caller awaits the mail, else in its turn. */
  #defer(entry: Entry, flow: Flow, read: () => Promise<unknown>): void {
    const deferred = { flow, read };
    this.#deferred.add(deferred);
    entry.urgency.onAwaited = () => {
      if (this.#deferred.remove(deferred)) void read();
    };
    if (this.#lanes < MAX_LANES) void this.#readDeferred();
  }

  async #readDeferred(): Promise<void> {
    const { signal } = this.#stopped;
    this.#lanes += 1;
    for (let next = this.#deferred.next(); next && !signal.aborted; next = this.#deferred.next()) {
      this.#deferred.remove(next);
      await next.read();
      while (this.#deferred.next() && this.#isBurst()) await systemClock.sleep(QUIET_MS, signal);
    }
    this.#lanes -= 1;
  }

  #admit(accountId: string, bytes: number): void {
    const load = this.#backlogs.get(accountId) ?? { mails: 0, bytes: 0 };
    if (load.mails >= MAX_BACKLOG_MAILS || load.bytes + bytes > MAX_BACKLOG_BYTES)
      throw new AppError('unavailable', BACKLOG, { retryAfterSeconds: 30 });
    load.mails += 1;
    load.bytes += bytes;
    this.#unreadBytes += bytes;
    this.#backlogs.set(accountId, load);
  }

  #release(accountId: string, bytes: number): void {
    this.#unreadBytes -= bytes;
    const load = this.#backlogs.get(accountId);
    if (!load) return;
    load.mails -= 1;
    load.bytes -= bytes;
    if (load.mails === 0) this.#backlogs.delete(accountId);
  }

  readonly #takeOver = (unread: UnreadSource): void => {
    if (this.#entries.has(unread.source)) return;
    const entry = newEntry(unread.source);
    this.#entries.set(unread.source, entry);
    // The inbox of a mail that is loaded from the store is unknown.
    void this.#read(entry, unread, [unread.accountId, '']);
  };

  /**
   * Parses a mail and stores the result.
   * @param kept the mail; if undefined, it is loaded when a worker is free
   * @param stored resolves when the mail is stored
   * @returns a promise that resolves when the parser is done with it. Failures are those of `entry.done`
   */
  #read(
    entry: Entry,
    { size, checks }: Pick<UnreadSource, 'size' | 'checks'>,
    flow: Flow,
    kept?: Mail,
    stored?: Promise<void>,
  ): Promise<unknown> {
    const { done, urgency } = entry;
    const { signal } = this.#stopped;
    const { clock, log, events, store, parsing, authenticating } = this.#deps;
    const trail: TrailStep[] = [];
    const note = (event: TrailEvent): unknown => trail.push({ event, at: clock.now() });
    const checker = checks ? authenticating : null;
    const check = async ({ envelope, raw }: Omit<Mail, 'checks'>): Promise<MailAuthentication | null> => {
      const found = checker && (await checker.check(envelope, raw));
      if (found) note('sender-checked');
      return found;
    };
    let via = kept?.envelope.via;
    let checking = kept && check(kept);
    const load = async (): Promise<Uint8Array> => {
      if (entry.isOver || signal.aborted) throw GONE;
      const mail = kept ?? (await store.readings.load(entry.source));
      if (!mail) throw GONE;
      via = mail.envelope.via;
      // Large bytes are transferred, to the parser and to the check.
      const raw = checker && !checking ? await copyInTurns(mail.raw) : mail.raw;
      checking ??= check({ ...mail, raw });
      return mail.raw;
    };
    const parse = parsing.parse({ size, load }, { flow, urgency });
    const finish = async (): Promise<void> => {
      const parsed = await parse;
      note('parsed');
      const authentication = (await checking) ?? null;
      // The parsed content can be stored only after its source.
      await stored;
      if (entry.isOver) throw GONE;
      // On shutdown, results may be incomplete. The mail is parsed after the next start.
      if (signal.aborted) throw unavailable('closed');
      const { source } = entry;
      const summary = withVia(parsed.summary, via);
      const reading = { ...parsed, summary, authentication, trail: encodeTrail(trail), source, size };
      const keeping = (authentication ? store.readings.keepChecked : store.readings.keep)([reading]);
      this.#keeping.add(keeping);
      const due = await keeping.finally(() => this.#keeping.delete(keeping));
      if (due > 0) events.publishDeliveries();
    };
    finish()
      .finally(() => {
        entry.isOver = true;
        if (this.#entries.get(entry.source) === entry) this.#entries.delete(entry.source);
      })
      .then(done.resolve, (err) => {
        if (err === GONE) return done.resolve();
        done.reject(err);
        if (!signal.aborted)
          log.warn({ err, source: entry.source }, 'A mail could not be read; it is tried again');
      });
    return parse.catch(() => undefined);
  }
}

const withVia = (summary: Uint8Array, via: string | undefined): Uint8Array =>
  via === undefined ? summary : Buffer.concat([Buffer.from(`{"via":"${via}",`), summary.subarray(1)]);
