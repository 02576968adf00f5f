import type { Pool, PoolClient } from 'pg';
import { PostgresDb } from '../../database/postgres/postgres-db.ts';
import { runFlights, runTransaction } from '../../database/postgres/transactions.ts';
import { addBridge } from '../sql/bridge.ts';
import type { Engine, HotCalls, Tx } from '../sql/engine.ts';
import { createEvict } from '../sql/messages/eviction.ts';
import { createSources } from '../sql/messages/sources.ts';
import { addBatch, stageSource } from './add-batch.ts';
import { kyselyOn, postgresDialect } from './kysely.ts';

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
  const evict = createEvict(engine, createSources(engine));
  return {
    ...engine,
    hot: {
      addBatch: (mails, now) =>
        runFlights(pool, async (client) => {
          const { placed, overfull, written } = await addBatch(client, mails, now);
          if (overfull.length > 0) await written;
          await evict(txOn(client), overfull);
          return { result: placed, written };
        }),
      stage: (mail, stage) => runFlights(pool, (client) => stageSource(client, mail, stage)),
    },
  };
}
