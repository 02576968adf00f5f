import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newId } from '../../src/ids.ts';
import { cursorAt, timeOfSince } from '../../src/messages/cursor.ts';

const NOW = Date.UTC(2026, 2, 4, 5, 6, 7, 890);
const INBOX = newId('inb', NOW);
const OTHER = newId('inb', NOW);
const refused = expect.objectContaining({ code: 'invalid_since' });
const since = (text: string) => () => timeOfSince(INBOX, text);

describe('since', () => {
  it('reads back every cursor of its inbox, and no other inbox reads it', () => {
    fc.assert(
      fc.property(fc.nat({ max: 2 ** 48 - 1 }), (time) => {
        expect(timeOfSince(INBOX, cursorAt(INBOX, time))).toBe(time);
        expect(since(cursorAt(OTHER, time))).toThrow(refused);
      }),
    );
  });

  it('reads the time out of a message id', () => {
    expect(timeOfSince(INBOX, newId('msg', NOW))).toBe(NOW);
  });

  it.each([
    ['2026-03-04T05:06:07.890Z', NOW],
    ['2026-03-04t05:06:07.890z', NOW],
    ['2026-03-04 05:06:07.890Z', NOW],
    ['2026-03-04T07:06:07.89+02:00', NOW],
    ['2026-03-04T07:06:07.89 02:00', NOW],
    ['2026-03-04T05:06:07.8909999Z', NOW],
    ['2026-03-03T22:06:07.890-07:00', NOW],
    ['2026-03-04T05:06:07Z', NOW - 890],
    [String(NOW), NOW],
    ['0', 0],
    ['1000', 1000],
    ['1960-01-01T00:00:00Z', 0],
  ])('reads %s', (text, time) => {
    expect(timeOfSince(INBOX, text)).toBe(time);
  });

  const message = newId('msg', NOW);
  const cursor = cursorAt(INBOX, NOW);
  it.each([
    ...['', ' ', 'yesterday', '-1', '1.5', '1e12', '0x10', '1772600767', '999999999999999', '9'.repeat(22)],
    ...['2026-03-04', '2026-03-04T05:06:07', '2026-03-04T05:06Z', '2026-02-30T05:06:07Z'],
    ...['2026-13-04T05:06:07Z', '2026-03-04T24:00:00Z', '2026-03-04T05:06:60Z', '2026-03-04T05:06:07+2:00'],
    ...[INBOX, `${message}x`, message.toUpperCase(), `${cursor}x`, cursor.slice(0, -1), ` ${cursor}`],
    ...['cur_', 'cur_abc_def', 'cur_0000000000_AAAAAAAAAAA'],
  ])('refuses %j', (text) => {
    expect(since(text)).toThrow(refused);
  });
});
