import { newId } from '../ids.ts';
import type { Store } from '../store.ts';
import { type MadeKey, newKey } from './keys.ts';
import { LOCAL_PLAN } from './plans.ts';
import type { AccountRecord } from './sql.ts';

export type FirstStart =
  | { made: true; key: string; account: AccountRecord }
  | { made: false; account: AccountRecord };

/** Creates an account and returns its key, if there is none. A key chosen by the operator is added to the first one. */
export async function ensureFirstAccount(
  store: Pick<Store, 'accounts' | 'keys'>,
  chosenKey: string | null,
  now: number,
): Promise<FirstStart> {
  const account = { id: newId('acc', now), name: 'default', plan: LOCAL_PLAN, createdAt: now };
  const { key, record } = fullKey(account.id, 'first key', now, chosenKey);
  if (await store.accounts.createFirst(account, record)) return { made: true, key, account };
  const first = await store.accounts.findFirst();
  if (!first) throw new Error('the first account was neither made nor found');
  if (chosenKey !== null) {
    await store.keys.create(fullKey(first.id, 'from MAYFLY_API_KEY', now, chosenKey).record);
  }
  return { made: false, account: first };
}

const fullKey = (accountId: string, name: string, now: number, chosen: string | null): MadeKey =>
  newKey({ accountId, name, scope: 'full', expiresAt: null }, now, chosen);
