import { workerData } from 'node:worker_threads';
import { operationAt } from '../../store.ts';
import { runOn } from '../sql.ts';
import { type Served, serveThread } from '../thread.ts';
import { openReader, readingEngine } from './connection.ts';
import { toUnavailable } from './errors.ts';
import { openForWriting, type ThreadOptions } from './writer.ts';

/** Ends the thread by an uncaught error after the responses were sent; a new thread reopens the database. */
function endThread(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}

async function openForSearching(options: ThreadOptions): Promise<Served> {
  const kit = readingEngine(openReader(options));
  await runOn(operationAt('accounts.findFirst'), [], kit);
  return { kit, toUnavailable };
}

const options: ThreadOptions = workerData;
void serveThread(() =>
  options.role === 'writer' ? openForWriting(options, endThread) : openForSearching(options),
);
