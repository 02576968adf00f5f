import { TASKS } from '../../src/reading/parse-worker.ts';

/** A parse worker with the faults that a parser could have: a mail asks for one by its header. */
const { parse, lint } = TASKS;
const faultOf = (raw: Uint8Array) => /^X-Fault: (\w+)/m.exec(Buffer.from(raw).toString('latin1'))?.[1];
TASKS.lint = (raw) => (faultOf(raw) === 'long' ? new Uint8Array(4_000_000) : lint(raw));
TASKS.parse = (raw) => {
  const fault = faultOf(raw);
  if (fault === 'endless') for (;;);
  if (fault === 'crash') process.exit(3);
  if (fault === 'afterwards') setImmediate(() => process.exit(3));
  if (fault === 'throw') throw new Error('a defect of the parser');
  const hoard: number[][] = [];
  if (fault === 'memory') for (;;) hoard.push(new Array(100_000).fill(hoard.length));
  return parse(raw);
};
