/** Searches have their own thread, because reading rows of large mails would block the main event loop. */
import { workerData } from 'node:worker_threads';
import { serveThread } from '../thread.ts';
import { createPool, postgresEngine } from './connection.ts';
import { toUnavailable } from './errors.ts';

const MAX_CONNECTIONS = 3;

const { url }: { url: string } = workerData;
void serveThread(async () => ({
  kit: postgresEngine(createPool(url, () => undefined, MAX_CONNECTIONS)),
  toUnavailable,
}));
