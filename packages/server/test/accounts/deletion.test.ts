import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { newId } from '../../src/ids.ts';
import { inboxAt, mailTo, onlyPlaced, T } from '../store/builders.ts';
import { openTemporary } from '../store/sqlite/open-sqlite.ts';

it('a deletion that was stopped on its way leaves an account for which nothing is made, and goes on when asked again', async () => {
  const on = await openTemporary();
  const { store } = on;
  const account = { id: newId('acc', T), name: 'a', plan: 'free', createdAt: T };
  const other = { ...account, id: newId('acc', T + 1), createdAt: T + 1 };
  for (const one of [account, other]) await store.accounts.create(one, null);
  const { inbox } = await store.inboxes.create(account.id, inboxAt(), 10, null);
  await onlyPlaced(store, mailTo([inbox]), T);
  // What is there when the process ends right after its first step.
  const rows = new DatabaseSync(on.path, { timeout: 5000 });
  rows.prepare('update accounts set deleted_at = ? where id = ?').run(T, account.id);
  rows.close();

  const late = store.inboxes.create(account.id, inboxAt(), 10, null);
  await expect(late).rejects.toMatchObject({ code: 'unauthorized' });
  expect(await store.accounts.findFirst()).toEqual(other);
  expect(await store.accounts.delete(other.id, T)).toBe('last');
  // It is still there to be named.
  expect(await store.accounts.list()).toEqual([account, other]);
  expect(await store.accounts.delete(account.id, T)).toBe('deleted');
  expect(await store.accounts.find(account.id)).toBeUndefined();
  const { addresses, ...rest } = await on.counts();
  expect([addresses, ...Object.values(rest).filter((count) => count > 0)]).toEqual([1]);
  await on.close();
});
