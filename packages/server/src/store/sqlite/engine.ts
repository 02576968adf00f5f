import type { DatabaseSync } from 'node:sqlite';
import { unavailable } from '../../database/failures.ts';
import { SqliteDb } from '../../database/sqlite-db.ts';
import { addBridge } from '../sql/bridge.ts';
import type { Engine, HotCalls, Tx } from '../sql/engine.ts';
import { createEvict } from '../sql/messages/eviction.ts';
import { createSources } from '../sql/messages/sources.ts';
import { createAddBatch } from './add-batch.ts';
import { kyselyOn, sqliteDialect } from './kysely.ts';
import { SourceWriter } from './staging.ts';
import type { Transactions } from './transactions.ts';

/**
 * The engine on the writer connection.
 * @param onStaged called with the change of the bytes that were written for messages which are not stored yet
 */
export function writingEngine(
  database: DatabaseSync,
  transactions: Transactions,
  onStaged: (change: number) => void = () => undefined,
): Engine & { hot: HotCalls } {
  const db = kyselyOn(database);
  const tx = new SqliteDb(database);
  const run: <T>(unit: () => Promise<T>, of?: 'step') => Promise<T> = (unit, of) =>
    of === 'step' ? transactions.step(unit) : transactions.run(unit);
  const engine: Engine = {
    db,
    dialect: sqliteDialect,
    kit: {
      db: tx,
      transaction: (work, of) => run(() => work(tx), of),
      flight: (work) =>
        run(async () => {
          const { result, written } = await work(tx);
          await written;
          return result;
        }),
    },
    // There is one connection, so whatever runs during a transaction is part of it.
    transaction: (work, of) => run(() => work(db as Tx), of),
  };
  addBridge(tx, { tx: db as Tx, engine });
  const sources = createSources(engine);
  const sourceWriter = new SourceWriter({ database, engine, sources, transactions, onStaged });
  const addBatch = createAddBatch(database, sourceWriter);
  const evict = createEvict(engine, sources);
  return {
    ...engine,
    hot: {
      addBatch: (mails, now) =>
        sourceWriter.stage(mails, now, (staged) =>
          engine.transaction(async (tx) => {
            const { placed, overfull } = addBatch(mails, now, staged);
            await evict(tx, overfull);
            return placed;
          }),
        ),
      stage: (mail, stage) => sourceWriter.park(mail, stage),
    },
  };
}

const refuse = (): Promise<never> => Promise.reject(unavailable('read-only'));

/** The engine on a read-only connection. */
export function readingEngine(database: DatabaseSync): Engine & { hot: HotCalls } {
  return {
    db: kyselyOn(database),
    dialect: sqliteDialect,
    kit: { db: new SqliteDb(database), transaction: refuse, flight: refuse },
    transaction: refuse,
    hot: { addBatch: refuse, stage: refuse },
  };
}
