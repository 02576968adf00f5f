import { parentPort } from 'node:worker_threads';
import { giveBackMemoryLater } from '../../memory.ts';
import { serve } from './serve.ts';

/** The entry of a parse worker thread; see parser-pool.ts. */
if (parentPort !== null) {
  serve(parentPort);
  giveBackMemoryLater();
}
