import { parentPort } from 'node:worker_threads';
import { READERS, serve } from '../../../src/reading/pool/serve.ts';

/** A parse worker with the faults that a parser could have: a mail asks for one by its header. */
if (parentPort !== null) {
  const { parseMail, lintMail } = READERS;
  const faultOf = (raw: Uint8Array) => /^X-Fault: (\w+)/m.exec(Buffer.from(raw).toString('latin1'))?.[1];
  READERS.lintMail = (raw) => {
    const message = faultOf(raw) === 'long' ? ' '.repeat(4_000_000) : '';
    const finding = { rule: 'x', severity: 'info', message, where: null, count: 1, reference: '' } as const;
    return message === '' ? lintMail(raw) : { findings: [finding], features: [] };
  };
  READERS.parseMail = (raw) => {
    const fault = faultOf(raw);
    if (fault === 'endless') for (;;);
    if (fault === 'crash') process.exit(3);
    if (fault === 'throw') throw new Error('a defect of the parser');
    const hoard: number[][] = [];
    if (fault === 'memory') for (;;) hoard.push(new Array(100_000).fill(hoard.length));
    return parseMail(raw);
  };
  serve(parentPort);
}
