import type { DatabaseSync } from 'node:sqlite';
import { unavailable } from '../failures.ts';
import type { Engine, HotCalls } from '../sql/engine.ts';
import { createEvict } from '../sql/messages/eviction.ts';
import { createSources } from '../sql/messages/sources.ts';
import { createClaim } from '../sql/webhooks/claim.ts';
import { createRecord } from '../sql/webhooks/record-attempts.ts';
import { createAddBatch } from './add-batch.ts';
import { kyselyOn, sqliteDialect } from './kysely.ts';
import type { Transactions } from './transactions.ts';

/** The engine on the writer connection. */
export function writingEngine(
  database: DatabaseSync,
  transactions: Transactions,
): Engine & { hot: HotCalls } {
  const db = kyselyOn(database);
  const engine: Engine = {
    db,
    dialect: sqliteDialect,
    // There is one connection, so whatever runs during a transaction is part of it.
    transaction: (work) => transactions.run(() => work(db as Parameters<typeof work>[0])),
  };
  const addBatch = createAddBatch(database);
  const evict = createEvict(engine, createSources(engine));
  return {
    ...engine,
    hot: {
      addBatch: (mails, now) =>
        engine.transaction(async (tx) => {
          const { placed, overfull } = addBatch(mails, now);
          for (const { inboxSeq, maxMessages } of overfull) await evict(tx, inboxSeq, maxMessages);
          return placed;
        }),
      claim: createClaim(engine),
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
    transaction: refuse,
    hot: { addBatch: refuse, claim: refuse, record: refuse },
  };
}
