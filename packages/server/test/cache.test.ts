import { describe, expect, it } from 'vitest';
import { LruCache } from '../src/workers/ttl-cache.ts';

describe('LruCache', () => {
  it('keeps entries that are used and drops the others beyond its size', () => {
    const recent = new LruCache<number>(10);
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

  it('returns the newest value of a key', () => {
    const recent = new LruCache<number>(2);
    for (const value of [1, 2, 3]) recent.set('key', value);
    recent.set('other', 4);
    recent.set('key', 5);
    expect(recent.get('key')).toBe(5);
  });
});
