import { parentPort } from 'node:worker_threads';
import '../../../src/reading/sender-checks/worker.ts';

/** The thread that checks senders with the faults that it could have: the local part of MAIL FROM asks for one. */
parentPort?.on('message', ({ mailFrom = '' }: { mailFrom?: string }) => {
  const [fault] = mailFrom.split('@');
  if (fault === 'endless') for (;;);
  if (fault === 'crash') process.exit(3);
  if (fault === 'throw') throw new Error('a defect of a library');
  const hoard: number[][] = [];
  if (fault === 'memory') for (;;) hoard.push(new Array(100_000).fill(hoard.length));
});
