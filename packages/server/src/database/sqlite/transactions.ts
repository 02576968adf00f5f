import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { outcomeUnknown } from '../failures.ts';
import { isBroken, isBusy, isFull, isRemoved, toUnavailable } from './errors.ts';

/** They take a few milliseconds, during which later calls wait. */
const MAX_UNITS = 64;

interface Unit {
  work(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** True if `work` runs between two transactions. */
  outside: boolean;
  /** Its commit needs no sync. */
  relaxed: boolean;
}

type Outcome = { value: unknown } | { error: unknown };

export interface TransactionHooks {
  /** Called before each transaction, which fails with what it throws. */
  beforeTransaction(): void;
  /** Called after each commit, before the units of work in it resolve. If this hook throws, those units fail with its error. */
  afterCommit(): void;
  /** Called when the disk is full, before one more attempt. */
  makeSpace(): void;
  /** Called when the database stayed locked for the whole busy timeout. Every waiting unit of work is rejected with `error`. */
  onBusy(error: unknown): void;
  onBroken(error: unknown): void;
}

/**
 * The transactions of the writer connection. Units of work that wait at the same time share one transaction and its
 * sync, and resolve when it is on stable storage. One that throws is rolled back alone.
 */
export class Transactions {
  readonly #database: DatabaseSync;
  readonly #hooks: TransactionHooks;
  readonly #waiting: Unit[] = [];
  /** They come first, so that they wait for no sync, and have transactions of their own. */
  readonly #relaxed: Unit[] = [];
  readonly #steps: Unit[] = [];
  #running = false;
  #syncs = true;

  readonly #isDurable: boolean;

  /** @param isDurable false where no commit is synced */
  constructor(database: DatabaseSync, hooks: TransactionHooks, isDurable = true) {
    this.#database = database;
    this.#hooks = hooks;
    this.#isDurable = isDurable;
  }

  /** `work` runs again if the disk is full or the failure of another unit ended the transaction. */
  run<T>(work: () => Promise<T>, relaxed = false): Promise<T> {
    return this.#add(relaxed ? this.#relaxed : this.#waiting, work, { relaxed });
  }

  /** One step of a long operation: alone in a transaction, after the calls that wait. */
  step<T>(work: () => Promise<T>): Promise<T> {
    return this.#add(this.#steps, work);
  }

  /** Runs `work` while no transaction is open. */
  between(work: () => void): Promise<void> {
    return this.#add(this.#waiting, async () => work(), { outside: true });
  }

  #add<T>(queue: Unit[], work: () => Promise<T>, of: Partial<Unit> = {}): Promise<T> {
    return new Promise((resolve, reject) => {
      const settled = { resolve: (value: unknown) => resolve(value as T), reject };
      queue.push({ work, outside: false, relaxed: false, ...settled, ...of });
      if (this.#running) return;
      this.#running = true;
      // After the other calls of this turn.
      queueMicrotask(() => void this.#runAll());
    });
  }

  async #runAll(): Promise<void> {
    while (this.#isNeeded) {
      await this.#runFirst(this.#relaxed);
      await this.#runFirst(this.#waiting);
      await this.#runFirst(this.#steps.splice(0, 1));
    }
    this.#running = false;
  }

  get #isNeeded(): boolean {
    return this.#relaxed.length + this.#waiting.length + this.#steps.length > 0;
  }

  async #runFirst(queue: Unit[]): Promise<void> {
    if (queue.length === 0) return;
    if (queue[0]?.outside) await this.#runOutside(queue.shift());
    else await this.#runTogether(queue, true);
    // Sends the results before the next sync blocks this thread, and receives calls that arrived.
    if (this.#isNeeded) await nextTurn();
  }

  async #runOutside(unit: Unit | undefined): Promise<void> {
    try {
      unit?.resolve(await unit.work());
    } catch (error) {
      unit?.reject(error);
    }
  }

  /** @param mayRetry whether a unit that found the disk full is run once more */
  async #runTogether(queue: Unit[], mayRetry: boolean): Promise<void> {
    const begun: Unit[] = [];
    const outcomes: Outcome[] = [];
    try {
      this.#hooks.beforeTransaction();
      this.#sync(queue[0]?.relaxed !== true);
      this.#database.exec('begin immediate');
      // Calls that arrive meanwhile are added to the queue.
      while (begun.length < MAX_UNITS && queue[0]?.outside === false) {
        const [unit] = queue.splice(0, 1) as [Unit];
        begun.push(unit);
        outcomes.push(await this.#runUnit(unit, begun.length > 1));
      }
      this.#database.exec('commit');
      this.#hooks.afterCommit();
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback');
      // A transaction that could not begin fails its first unit.
      if (begun.length === 0) begun.push(...queue.splice(0, 1));
      await this.#afterFailure(begun, error, mayRetry);
      return;
    }
    for (const [index, { resolve, reject }] of begun.entries()) {
      const outcome = outcomes[index];
      if (outcome && 'error' in outcome) reject(outcome.error);
      else resolve(outcome?.value);
    }
  }

  /** Outside of a transaction. Without a sync, a commit is durable after the next one with it. */
  #sync(full: boolean): void {
    if (full === this.#syncs || !this.#isDurable) return;
    this.#database.exec(`pragma synchronous = ${full ? 'full' : 'normal'}`);
    this.#syncs = full;
  }

  /** The first unit has no savepoint, because it is mostly alone. @throws if the whole transaction is lost */
  async #runUnit({ work }: Unit, hasSavepoint: boolean): Promise<Outcome> {
    if (hasSavepoint) this.#database.exec('savepoint unit');
    try {
      const value = await work();
      if (hasSavepoint) this.#database.exec('release unit');
      return { value };
    } catch (error) {
      // A full disk or an input or output error ends the transaction of all units.
      if (!hasSavepoint || !this.#database.isTransaction) throw error;
      this.#database.exec('rollback to unit; release unit');
      return { error: toUnavailable(error) ?? error };
    }
  }

  async #afterFailure(units: readonly Unit[], error: unknown, mayRetry: boolean): Promise<void> {
    if (isBusy(error)) {
      // Each waiting unit would wait for the whole timeout again.
      this.#rejectAll(units, toUnavailable(error));
      this.#hooks.onBusy(toUnavailable(error));
    } else if (isRemoved(error)) {
      this.#rejectAll(units, error);
    } else if (isBroken(error)) {
      this.#rejectAll(units, outcomeUnknown(error));
      this.#hooks.onBroken(error);
    } else if (units.length > 1 || (isFull(error) && mayRetry)) {
      if (isFull(error)) this.#hooks.makeSpace();
      for (const unit of units) await this.#runTogether([unit], units.length > 1);
    } else {
      for (const { reject } of units) reject(toUnavailable(error) ?? error);
    }
  }

  #rejectAll(units: readonly Unit[], error: unknown): void {
    const left = [this.#relaxed, this.#waiting, this.#steps].flatMap((queue) => queue.splice(0));
    for (const { reject } of [...units, ...left]) reject(error);
  }
}
