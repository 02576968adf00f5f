import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { outcomeUnknown } from '../../database/failures.ts';
import { isBroken, isBusy, isFull, isRemoved, toUnavailable } from './errors.ts';

/** Units in one transaction: a few milliseconds, for which later calls wait. */
const MAX_UNITS = 64;

/** One caller's part of a transaction. */
interface Unit {
  work(): Promise<unknown>;
  resolve(value: unknown): void;
  reject(error: unknown): void;
  /** True if `work` runs between two transactions. */
  outside: boolean;
}

type Outcome = { value: unknown } | { error: unknown };

export interface TransactionHooks {
  /** Called before each transaction, which fails with what it throws. */
  beforeTransaction(): void;
  /** Called after each commit, before it is answered; what it throws is the answer. */
  afterCommit(): void;
  /** Called when the disk is full, before what failed is tried once more. */
  makeSpace(): void;
  /** Called after another process held the lock for longer than the busy timeout, with the error of all units. */
  onBusy(error: unknown): void;
  /** Called when the connection must not be used any more. */
  onBroken(error: unknown): void;
}

/**
 * The transactions on the writer connection. Units of work that wait at the same time share one transaction,
 * and so one sync to the disk; each resolves when that is on stable storage. A unit that throws is rolled
 * back by itself and takes nothing from the others. The steps of something long take turns with them.
 */
export class Transactions {
  readonly #database: DatabaseSync;
  readonly #hooks: TransactionHooks;
  readonly #waiting: Unit[] = [];
  readonly #steps: Unit[] = [];
  #running = false;

  constructor(database: DatabaseSync, hooks: TransactionHooks) {
    this.#database = database;
    this.#hooks = hooks;
  }

  /** Runs `work` in a transaction; more than once if the disk is full or another unit's failure ended it. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.#add(this.#waiting, work, false);
  }

  /**
   * As {@link run}, for one step of something long: in a transaction of its own, after the calls that wait. So
   * what comes during a step waits for the rest of that step, and not for the next one as well.
   */
  step<T>(work: () => Promise<T>): Promise<T> {
    return this.#add(this.#steps, work, false);
  }

  /** Runs `work` while no transaction is open. */
  between(work: () => void): Promise<void> {
    return this.#add(this.#waiting, async () => work(), true);
  }

  #add<T>(queue: Unit[], work: () => Promise<T>, outside: boolean): Promise<T> {
    return new Promise((resolve, reject) => {
      queue.push({ work, resolve: (value) => resolve(value as T), reject, outside });
      if (this.#running) return;
      this.#running = true;
      // After the other calls of this turn.
      queueMicrotask(() => void this.#runAll());
    });
  }

  async #runAll(): Promise<void> {
    while (this.#isNeeded) {
      await this.#runFirst(this.#waiting);
      await this.#runFirst(this.#steps.splice(0, 1));
    }
    this.#running = false;
  }

  get #isNeeded(): boolean {
    return this.#waiting.length + this.#steps.length > 0;
  }

  /** Runs the first units of a queue that fit into one transaction, or the first one outside of any. */
  async #runFirst(queue: Unit[]): Promise<void> {
    if (queue.length === 0) return;
    if (queue[0]?.outside) await this.#runOutside(queue.shift());
    else await this.#runTogether(queue, true);
    // The results are sent before the next sync blocks this thread, and calls that arrived join the queue.
    if (this.#isNeeded) await nextTurn();
  }

  async #runOutside(unit: Unit | undefined): Promise<void> {
    try {
      unit?.resolve(await unit.work());
    } catch (error) {
      unit?.reject(error);
    }
  }

  /**
   * Runs the first units of a queue in one transaction.
   * @param mayRetry whether a unit that found the disk full is tried once more
   */
  async #runTogether(queue: Unit[], mayRetry: boolean): Promise<void> {
    const begun: Unit[] = [];
    const outcomes: Outcome[] = [];
    try {
      this.#hooks.beforeTransaction();
      this.#database.exec('begin immediate');
      while (begun.length < MAX_UNITS && queue[0]?.outside === false) {
        const [unit] = queue.splice(0, 1) as [Unit];
        begun.push(unit);
        outcomes.push(await this.#runUnit(unit, begun.length > 1));
      }
      this.#database.exec('commit');
      this.#hooks.afterCommit();
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('rollback');
      // A transaction that could not even begin fails the unit for which it was begun.
      if (begun.length === 0) begun.push(...queue.splice(0, 1));
      await this.#afterFailure(begun, error, mayRetry);
      return;
    }
    for (const [index, unit] of begun.entries()) settle(unit, outcomes[index]);
  }

  /** @throws if the whole transaction is lost; the first unit has no savepoint, because it is mostly alone */
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

  /** A failed transaction changed nothing that lasts: its units are run again alone, or rejected. */
  async #afterFailure(units: readonly Unit[], error: unknown, mayRetry: boolean): Promise<void> {
    if (isBusy(error)) {
      // Each of the waiting units would wait as long again; so no call waits much longer than one timeout.
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
    for (const { reject } of [...units, ...this.#waiting.splice(0), ...this.#steps.splice(0)]) reject(error);
  }
}

function settle({ resolve, reject }: Unit, outcome: Outcome | undefined): void {
  if (outcome === undefined) return;
  if ('error' in outcome) reject(outcome.error);
  else resolve(outcome.value);
}
