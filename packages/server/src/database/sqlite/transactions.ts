import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { outcomeUnknown } from '../failures.ts';
import { isBroken, isBusy, isFull, isRemoved, toUnavailable } from './errors.ts';

/** Maximum units of work in one transaction. They take a few milliseconds, during which later calls wait. */
const MAX_UNITS = 64;
/** Log pages (16 MB) before a checkpoint. With SQLite's default of 4 MB, checkpoints cost twice as much. */
const CHECKPOINT_PAGES = 4000;

interface Unit {
  work(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface TransactionHooks {
  afterCommit(): void;
  makeSpace(): void;
  onBroken(error: unknown): void;
}

/** Queued units of work share one transaction and its sync. A unit that throws is rolled back alone. */
export class Transactions {
  readonly #database: DatabaseSync;
  readonly #hooks: TransactionHooks;
  readonly #isDurable: boolean;
  readonly #log: StatementSync;
  /** Queues in the order in which they run. Units of `relaxed` come first, because they wait for no sync. */
  readonly #queues = { relaxed: [] as Unit[], synced: [] as Unit[], step: [] as Unit[] };
  #running = false;
  #syncs = true;

  constructor(database: DatabaseSync, hooks: TransactionHooks, isDurable = true) {
    this.#database = database;
    this.#hooks = hooks;
    this.#isDurable = isDurable;
    database.exec('pragma wal_autocheckpoint = 0');
    this.#log = database.prepare('pragma wal_checkpoint(noop)');
  }

  /** `work` may run twice. @param of `step`: runs after all queued units; `relaxed`: the commit is not synced */
  run<T>(work: () => Promise<T>, of: 'synced' | 'step' | 'relaxed' = 'synced'): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#queues[of].push({ work, resolve: (value) => resolve(value as T), reject });
      if (this.#running) return;
      this.#running = true;
      queueMicrotask(() => void this.#runAll());
    });
  }

  async #runAll(): Promise<void> {
    const { relaxed, synced, step } = this.#queues;
    while (relaxed.length + synced.length + step.length > 0) {
      await this.#runFirst(relaxed, false);
      await this.#runFirst(synced);
      await this.#runFirst(step.splice(0, 1));
    }
    this.#running = false;
  }

  async #runFirst(queue: Unit[], syncs = true): Promise<void> {
    if (queue.length === 0) return;
    await this.#runTogether(queue, syncs, true);
    const { log = 0, checkpointed = 0 } = (this.#database.isOpen && this.#log.get()) || {};
    // Yield to the event loop before the next sync blocks this thread: results are sent, and new calls are received.
    await nextTurn();
    if (Number(log) - Number(checkpointed) >= CHECKPOINT_PAGES) this.#checkpoint();
  }

  /** A checkpoint that fails loses nothing, and the next one tries again. */
  #checkpoint(): void {
    try {
      this.#database.exec('pragma wal_checkpoint(passive)');
    } catch (error) {
      if (isBroken(error)) this.#hooks.onBroken(error);
    }
  }

  async #runTogether(queue: Unit[], syncs: boolean, mayRetry: boolean): Promise<void> {
    const begun: Unit[] = [];
    const settled: (() => void)[] = [];
    try {
      this.#sync(syncs);
      this.#database.exec('begin immediate');
      for (let unit = queue.shift(); unit; unit = begun.length < MAX_UNITS ? queue.shift() : undefined) {
        begun.push(unit);
        settled.push(await this.#runUnit(unit, begun.length > 1));
      }
      this.#database.exec('commit');
      this.#hooks.afterCommit();
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback');
      // If the transaction could not begin, the first unit gets the error.
      if (begun.length === 0) begun.push(...queue.splice(0, 1));
      await this.#afterFailure(begun, error, syncs, mayRetry);
      return;
    }
    for (const settle of settled) settle();
  }

  /** @param full if false, the next commit is not synced itself; a later synced commit makes it durable */
  #sync(full: boolean): void {
    if (full === this.#syncs || !this.#isDurable) return;
    this.#database.exec(`pragma synchronous = ${full ? 'full' : 'normal'}`);
    this.#syncs = full;
  }

  /** @returns a function that settles the unit after the commit @throws the error if the whole transaction fails */
  async #runUnit({ work, resolve, reject }: Unit, hasSavepoint: boolean): Promise<() => void> {
    if (hasSavepoint) this.#database.exec('savepoint unit');
    try {
      const value = await work();
      if (hasSavepoint) this.#database.exec('release unit');
      return () => resolve(value);
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back the transaction of all units.
      if (!hasSavepoint || !this.#database.isTransaction) throw error;
      this.#database.exec('rollback to unit; release unit');
      return () => reject(toUnavailable(error) ?? error);
    }
  }

  async #afterFailure(units: readonly Unit[], error: unknown, syncs: boolean, mayRetry: boolean) {
    const failed = [...units];
    const endsAll = isBusy(error) || isRemoved(error) || isBroken(error);
    if (!endsAll && (units.length > 1 || (isFull(error) && mayRetry))) {
      if (isFull(error)) this.#hooks.makeSpace();
      for (const unit of units) await this.#runTogether([unit], syncs, units.length > 1);
      return;
    }
    // Queued units would fail with the same error, each after the whole timeout if the database is locked.
    if (endsAll) failed.push(...Object.values(this.#queues).flatMap((queue) => queue.splice(0)));
    const reason = isBroken(error) ? outcomeUnknown(error) : (toUnavailable(error) ?? error);
    for (const { reject } of failed) reject(reason);
    if (isBroken(error)) this.#hooks.onBroken(error);
  }
}
