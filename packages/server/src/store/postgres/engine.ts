import type { Pool, PoolClient } from 'pg';
import { PostgresDb } from '../../database/postgres/postgres-db.ts';
import { runFlights, runTransaction } from '../../database/postgres/transactions.ts';
import { randomFraction } from '../../ids.ts';
import { addBridge } from '../sql/bridge.ts';
import type { Engine, HotCalls, Tx } from '../sql/engine.ts';
import { createClaim } from '../sql/webhooks/claim.ts';
import { kyselyOn, postgresDialect } from './kysely.ts';
import { createRecord } from './record-attempts.ts';

/** In random order, so that several nodes do not begin with the same webhook. */
const shuffled = (ids: string[]): string[] =>
  ids
    .map((id) => ({ id, place: randomFraction() }))
    .sort((a, b) => a.place - b.place)
    .map(({ id }) => id);

/** The engine on a pool of connections. */
export function postgresEngine(pool: Pool): Engine & { hot: HotCalls } {
  const transactions = new WeakMap<PoolClient, Tx>();
  const txOn = (client: PoolClient): Tx => {
    const tx = transactions.get(client) ?? (kyselyOn(client) as Tx);
    transactions.set(client, tx);
    return tx;
  };
  const engine: Engine = {
    db: kyselyOn(pool),
    dialect: postgresDialect,
    kit: {
      db: new PostgresDb(pool),
      transaction: (work) =>
        runTransaction(pool, (client) =>
          work(addBridge(new PostgresDb(client), { tx: txOn(client), engine })),
        ),
      flight: (work) => runFlights(pool, (client) => work(new PostgresDb(client))),
    },
    transaction: (work) => runTransaction(pool, (client) => work(txOn(client))),
  };
  return {
    ...engine,
    hot: {
      claim: createClaim(engine, { transactions: 'each webhook', order: shuffled }),
      record: createRecord(pool),
    },
  };
}
