import { parentPort } from 'node:worker_threads';
import { parseMail } from '../../../src/mail/parse.ts';
import { serve } from '../../../src/reading/pool/serve.ts';

/** A parse worker with the faults that a parser could have: a mail asks for one by its header. */
if (parentPort !== null) {
  serve(parentPort, {
    decode: (bytes) => bytes,
    lint: (raw) => (Buffer.from(raw).includes('X-Fault: long') ? ' '.repeat(4_000_000) : '[]'),
    preview: () => ({ page: '', about: '{}' }),
    attachments: () => '{}',
    fullJson: () => [],
    jsonLines: () => '',
    parse: (raw) => {
      const fault = /^X-Fault: (\w+)/m.exec(Buffer.from(raw).toString('latin1'))?.[1];
      if (fault === 'endless') for (;;);
      if (fault === 'crash') process.exit(3);
      if (fault === 'throw') throw new Error('a defect of the parser');
      const hoard: number[][] = [];
      if (fault === 'memory') for (;;) hoard.push(new Array(100_000).fill(hoard.length));
      return parseMail(raw);
    },
  });
}
