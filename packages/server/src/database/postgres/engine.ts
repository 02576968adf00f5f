import type { Pool } from 'pg';
import { AppError } from '../../errors.ts';
import type { Kit } from '../operations.ts';
import { isConflict, toUnavailable } from './errors.ts';
import { PostgresDb } from './postgres-db.ts';
import { runFlights, runTransaction } from './transactions.ts';

export function postgresEngine(pool: Pool): Kit {
  return {
    db: new PostgresDb(pool),
    transaction: (work, of) =>
      runTransaction(pool, async (client) => {
        if (of === 'relaxed') await client.query('set local synchronous_commit = off');
        return work(new PostgresDb(client));
      }),
    flight: (work) => runFlights(pool, (client) => work(new PostgresDb(client))),
    mayDependOnContent(error) {
      const known = error instanceof AppError ? error : toUnavailable(error);
      return known ? known.code === 'storage_damaged' : !isConflict(error);
    },
    close: () => pool.end(),
  };
}
