import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Store } from '../../src/store.ts';
import { openSqliteHere } from '../store/sqlite/open-sqlite.ts';

const T = Date.UTC(2026, 10, 23);
let folder: string;
let store: Store;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-outgoing-'));
  store = await openSqliteHere(join(folder, 'mayfly.db'), async () => undefined);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

it('an account is deleted with what it keeps at providers and what it still has to send', async () => {
  for (const id of ['acc_1', 'acc_2']) {
    const key = {
      id: `key_${id}`,
      hash: id,
      accountId: id,
      name: id,
      scope: 'full' as const,
      prefix: 'mfk_',
    };
    await store.accounts.create(
      { id, name: id, plan: 'free', createdAt: T },
      { ...key, createdAt: T, expiresAt: null },
    );
    const owner = { id, accountId: id };
    await store.providerItems.keep({ owner, provider: 'ses', kind: 'settings', name: '' }, {}, T + 1e9);
    const row = {
      id: `out_${id}`,
      accountId: id,
      inboxId: null,
      kind: 'handshake' as const,
      messageId: null,
    };
    await store.outgoing.add([{ ...row, ref: null, details: {}, raw: null, dueAt: T }], T);
  }
  expect(await store.accounts.delete('acc_1', T)).toBe('deleted');
  const claimed = await store.outgoing.claim({ limit: 10, leaseMs: 1 }, T, T);
  expect(claimed.map(({ id }) => id)).toEqual(['out_acc_2']);
});
