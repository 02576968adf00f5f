import { expect, it } from 'vitest';
import type { Call, Mailroom, Reply } from '../../../providers/src/provider.ts';
import { once } from '../../../providers/src/resend/requests.ts';

it('a request that was lost with its server can be repeated after a minute, and not before', async () => {
  const items = new Map<string, unknown>();
  let now = Date.UTC(2026, 2, 4);
  const mailroom: Pick<Mailroom, 'now' | 'keep' | 'keepFirst'> = {
    now: () => now,
    keep: async (_kind, name, value) => void items.set(name, value),
    async keepFirst(_kind, name, value) {
      const before = items.get(name);
      if (before === undefined) items.set(name, value);
      return before;
    },
  };
  const body = Buffer.from('{}');
  const call = { mailroom, headers: { 'idempotency-key': 'key' }, body } as unknown as Call;
  let sent = 0;
  const send = async (): Promise<Reply> => ({ type: 'application/json', body: String(++sent) });

  // A server that is killed never answers.
  void once(call, () => new Promise<Reply>(() => undefined));
  now += 59_000;
  await expect(once(call, send)).rejects.toMatchObject({ kind: 'concurrent_idempotent_requests' });
  now += 2_000;
  expect((await once(call, send)).body).toBe('1');
  expect((await once(call, send)).body).toBe('1');
});
