import type { DatabaseSync } from 'node:sqlite';
import { unavailable } from '../failures.ts';
import type { Kit } from '../operations.ts';
import { isBroken, isBusy, isRemoved } from './errors.ts';
import { SqliteDb } from './sqlite-db.ts';
import type { Transactions } from './transactions.ts';

const mayDependOnContent = (error: unknown): boolean =>
  !isBusy(error) && !isBroken(error) && !isRemoved(error);

const closing = (database: DatabaseSync) => async (): Promise<void> => {
  if (database.isOpen) database.close();
};

export function writingEngine(database: DatabaseSync, transactions: Transactions): Kit {
  // There is one connection, so every query during a transaction is part of it.
  const tx = new SqliteDb(database);
  return {
    db: tx,
    transaction: (work, of) =>
      of === 'step' ? transactions.step(() => work(tx)) : transactions.run(() => work(tx), of === 'relaxed'),
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

export function readingEngine(database: DatabaseSync): Kit {
  const db = new SqliteDb(database);
  return { db, transaction: refuse, flight: refuse, mayDependOnContent, close: closing(database) };
}
