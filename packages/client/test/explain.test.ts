import { expect, it } from 'vitest';
import { explanationLines } from '../src/explain.ts';
import type { api } from '../src/index.ts';

const at = '2026-11-22T05:06:07.890Z';
const sender = { at, address: 'a@mayfly.test', mailFrom: '', helo: 'x', remoteAddress: '127.0.0.1' };
const fault = { rule: 2, at: 'data' as const, delayMs: 0, disconnect: false };

it('an explanation names the fault rules that senders met', () => {
  const refused: api.RefusedMail[] = [
    { ...sender, reply: '452 4.2.2 Inbox is full', fault: null },
    { ...sender, reply: '451 later', fault: { ...fault, rule: 1, at: 'rcpt' } },
    { ...sender, reply: '', fault: { ...fault, delayMs: 3000 } },
    { ...sender, reply: '554 no', fault: { ...fault, disconnect: true, delayMs: 5 } },
  ];
  const none = { causes: [], seenCount: 0, seen: [], nearMisses: [], otherMail: [], failedHandshakes: [] };
  expect(explanationLines({ reason: 'timeout', summary: '', refused, ...none })).toEqual([
    'Refused: 05:06:07  452 4.2.2 Inbox is full  from <>',
    'Refused: 05:06:07  fault rule 1 at rcpt: 451 later  from <>',
    'Refused: 05:06:07  fault rule 2 at data: delayed by 3000 ms  from <>',
    'Refused: 05:06:07  fault rule 2 at data: 554 no, connection closed, delayed by 5 ms  from <>',
  ]);
});
