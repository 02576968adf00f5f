/** Searches run on a thread, because reading the rows of a large mail would block the event loop for too long. */
import { workerData } from 'node:worker_threads';
import { serveThread } from '../thread.ts';
import { createPool, postgresEngine } from './connection.ts';
import { toUnavailable } from './errors.ts';

/** Several connections, so that a search on a large mail does not block others. */
const MAX_CONNECTIONS = 3;

const { url }: { url: string } = workerData;
// A failed idle connection is replaced by the next search.
void serveThread(async () => ({
  kit: postgresEngine(createPool(url, () => undefined, MAX_CONNECTIONS)),
  toUnavailable,
}));
