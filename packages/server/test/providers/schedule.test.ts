import { expect, it } from 'vitest';
import { timeOf } from '../../../providers/src/resend/schedule.ts';
import CASES from './times.json' with { type: 'json' };

// A Wednesday, in winter time of New York, four days before its summer time.
const NOW = Date.parse('2026-03-04T15:00:00Z');

it.each(CASES.times)('%s is %s', (text, expected) => {
  expect(new Date(timeOf(text, NOW)).toISOString()).toBe(expected);
});

it.each([
  ...['', 'soon', 'in', 'in five minutes', 'in 1 fortnight', 'tomorrow', 'tomorrow at 25:00'],
  ...['Friday at 13pm'],
  ...['Friday at 3pm XT', '2026-13-01', '2026-03-05T99:00Z', 'in 31 days', 'in 999999 weeks'],
  ...[5, null, {}, 'x'.repeat(10_000)],
])('%.20s is refused', (text) => {
  expect(() => timeOf(text, NOW)).toThrow(expect.objectContaining({ status: 422 }));
});
