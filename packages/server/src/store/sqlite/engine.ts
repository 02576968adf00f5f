import type { DatabaseSync } from 'node:sqlite';
import { unavailable } from '../../database/failures.ts';
import { SqliteDb } from '../../database/sqlite-db.ts';
import type { Engine } from '../create-store.ts';
import { isBroken, isBusy, isRemoved } from './errors.ts';
import type { Transactions } from './transactions.ts';

const mayDependOnContent = (error: unknown): boolean =>
  !isBusy(error) && !isBroken(error) && !isRemoved(error);

const closing = (database: DatabaseSync) => async (): Promise<void> => {
  if (database.isOpen) database.close();
};

/** The engine on the writer connection. */
export function writingEngine(database: DatabaseSync, transactions: Transactions): Engine {
  // There is one connection, so whatever runs during a transaction is part of it.
  const tx = new SqliteDb(database);
  return {
    db: tx,
    transaction: (work, of) =>
      of === 'step' ? transactions.step(() => work(tx)) : transactions.run(() => work(tx)),
    flight: (work) =>
      transactions.run(async () => {
        const { result, written } = await work(tx);
        await written;
        return result;
      }),
    mayDependOnContent,
    close: closing(database),
  };
}

const refuse = (): Promise<never> => Promise.reject(unavailable('read-only'));

/** The engine on a read-only connection. */
export function readingEngine(database: DatabaseSync): Engine {
  const db = new SqliteDb(database);
  return { db, transaction: refuse, flight: refuse, mayDependOnContent, close: closing(database) };
}
