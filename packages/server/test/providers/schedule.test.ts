import { expect, it } from 'vitest';
import { timeOf } from '../../../providers/src/resend/schedule.ts';

// A Wednesday, in winter time of New York, four days before its summer time.
const NOW = Date.parse('2026-03-04T15:00:00Z');

it.each([
  ['2026-03-05T11:52:01.858Z', '2026-03-05T11:52:01.858Z'],
  ['2026-03-05T11:52:01+02:00', '2026-03-05T09:52:01.000Z'],
  ['2026-03-05T11:52', '2026-03-05T11:52:00.000Z'],
  ['2026-03-05 11:52:01.858205+00:00', '2026-03-05T11:52:01.858Z'],
  ['2026-03-05', '2026-03-05T00:00:00.000Z'],
  ['in 1 min', '2026-03-04T15:01:00.000Z'],
  ['in 5 minutes', '2026-03-04T15:05:00.000Z'],
  ['in an hour', '2026-03-04T16:00:00.000Z'],
  ['In 2 Days', '2026-03-06T15:00:00.000Z'],
  ['in 1 week', '2026-03-11T15:00:00.000Z'],
  ['tomorrow at 9am', '2026-03-05T09:00:00.000Z'],
  ['tomorrow 12am', '2026-03-05T00:00:00.000Z'],
  ['next day at 9am PST', '2026-03-05T17:00:00.000Z'],
  ['today at 23:30', '2026-03-04T23:30:00.000Z'],
  ['Friday at 3pm ET', '2026-03-06T20:00:00.000Z'],
  ['Monday at 3pm ET', '2026-03-09T19:00:00.000Z'],
  ['Wednesday at 9am', '2026-03-11T09:00:00.000Z'],
  ['Wednesday at 4:15pm', '2026-03-04T16:15:00.000Z'],
])('%s is %s', (text, expected) => {
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
