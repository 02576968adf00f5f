/**
 * The thread that searches, with connections of its own: rows come as text of twice their bytes, and reading
 * those of a large mail takes longer than the main thread may be busy.
 */
import { workerData } from 'node:worker_threads';
import { createPool } from '../../database/postgres/connection.ts';
import { toUnavailable } from '../../database/postgres/errors.ts';
import { createStore } from '../create-store.ts';
import { serveThread } from '../thread/serve.ts';
import { postgresEngine } from './engine.ts';

/** Searches that the database runs at the same time; one that waits for a large mail does not stop others. */
const MAX_CONNECTIONS = 3;

const { url }: { url: string } = workerData;
await serveThread(async () => {
  // A connection that fails while no search uses it is replaced by the next search.
  const pool = createPool(url, () => undefined, MAX_CONNECTIONS);
  const store = createStore(postgresEngine(pool));
  return { store: { ...store, close: () => pool.end() }, toUnavailable, run: (_, method) => method() };
});
