import { describe, expect, it } from 'vitest';
import { Recent } from '../../src/cache.ts';

describe('what is remembered of late', () => {
  it('keeps what is used again and forgets what is not, within its bound', () => {
    const recent = new Recent<number>(10);
    recent.set('used', -1);
    for (let n = 0; n < 200; n++) {
      recent.set(`key ${n}`, n);
      expect(recent.get('used')).toBe(-1);
      for (let back = 0; back < 3; back++)
        expect(recent.get(`key ${Math.max(0, n - back)}`)).toBe(Math.max(0, n - back));
      const kept = Array.from({ length: n + 1 }, (_, m) => m).filter(
        (m) => m < n - 20 && recent.get(`key ${m}`) !== undefined,
      );
      expect(kept).toEqual([]);
    }
    recent.clear();
    expect(recent.get('used')).toBeUndefined();
  });

  it('takes the newest value of a key', () => {
    const recent = new Recent<number>(2);
    for (const value of [1, 2, 3]) recent.set('key', value);
    recent.set('other', 4);
    recent.set('key', 5);
    expect(recent.get('key')).toBe(5);
  });
});
