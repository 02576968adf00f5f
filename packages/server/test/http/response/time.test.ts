import fc from 'fast-check';
import { expect, it } from 'vitest';
import { toTime } from '../../../src/http/response/time.ts';
import { MAX_TIME } from '../../../src/ids.ts';

it('writes times of any two days, one after the other, as RFC 3339 in UTC', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: MAX_TIME }), { minLength: 1, maxLength: 4 }), (times) => {
      expect(times.map(toTime)).toEqual(times.map((time) => new Date(time).toISOString()));
    }),
  );
  expect(() => toTime(Number.NaN)).toThrow(RangeError);
});
