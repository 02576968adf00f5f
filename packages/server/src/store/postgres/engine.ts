import type { Pool } from 'pg';
import { isConflict, toUnavailable } from '../../database/postgres/errors.ts';
import { PostgresDb } from '../../database/postgres/postgres-db.ts';
import { runFlights, runTransaction } from '../../database/postgres/transactions.ts';
import { AppError } from '../../errors.ts';
import type { Engine } from '../create-store.ts';

/** The engine on a pool of connections. */
export function postgresEngine(pool: Pool): Engine {
  return {
    db: new PostgresDb(pool),
    transaction: (work) => runTransaction(pool, (client) => work(new PostgresDb(client))),
    flight: (work) => runFlights(pool, (client) => work(new PostgresDb(client))),
    mayDependOnContent(error) {
      const known = error instanceof AppError ? error : toUnavailable(error);
      return known ? known.code === 'storage_damaged' : !isConflict(error);
    },
    close: () => pool.end(),
  };
}
