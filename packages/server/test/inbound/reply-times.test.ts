import { expect, it } from 'vitest';
import { ReplyTimes } from '../../src/inbound/reply-times.ts';

it('the times of replies are known of the newest 10,000 messages, and of 20,000 at most', () => {
  const times = new ReplyTimes();
  const total = 45_000;
  for (let n = 0; n < total; n++) times.add([`msg_${n}`], n);
  const known = Array.from({ length: total }, (_, n) => times.of(`msg_${n}`)).filter((at) => at !== null);
  expect(known.length).toBeGreaterThanOrEqual(10_000);
  expect(known.length).toBeLessThanOrEqual(20_000);
  expect(times.of(`msg_${total - 10_000}`)).toBe(total - 10_000);
  expect(times.of('msg_0')).toBeNull();
});
