import type { DatabaseSync } from 'node:sqlite';
import { unavailable } from '../../database/failures.ts';
import { SqliteDb } from '../../database/sqlite-db.ts';
import { addBridge } from '../sql/bridge.ts';
import type { Engine, HotCalls, Tx } from '../sql/engine.ts';
import { createClaim } from '../sql/webhooks/claim.ts';
import { createRecord } from '../sql/webhooks/record-attempts.ts';
import { kyselyOn, sqliteDialect } from './kysely.ts';
import type { Transactions } from './transactions.ts';

/** The engine on the writer connection. */
export function writingEngine(
  database: DatabaseSync,
  transactions: Transactions,
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
  return {
    ...engine,
    hot: {
      claim: createClaim(engine, { transactions: 'one', order: (ids) => ids }),
      record: createRecord(engine),
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
    hot: { claim: refuse, record: refuse },
  };
}
