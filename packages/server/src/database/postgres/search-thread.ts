/** Searches run on a thread, because reading the rows of a large mail would block the event loop for too long. */
import { workerData } from 'node:worker_threads';
import { createStore } from '../../store.ts';
import { serveThread } from '../thread.ts';
import { createPool, postgresEngine } from './connection.ts';
import { toUnavailable } from './errors.ts';

/** Several connections, so that a search on a large mail does not block others. */
const MAX_CONNECTIONS = 3;

const { url }: { url: string } = workerData;
void serveThread(async () => {
  // A failed idle connection is replaced by the next search.
  const pool = createPool(url, () => undefined, MAX_CONNECTIONS);
  const store = createStore(postgresEngine(pool));
  return { store: { ...store, close: () => pool.end() }, toUnavailable, run: (_, method) => method() };
});
