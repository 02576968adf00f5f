import { hashCredential, newCredential, newId } from '../ids.ts';
import type { AccountRecord, Store } from '../store/store.ts';
import { LOCAL_PLAN } from './plans.ts';

/** Secret letters of a key that lists show, so that people can tell keys apart: too few to guess by. */
const SHOWN_SECRET_LETTERS = 4;
const MADE_KEY = /^mfk_/;

export type FirstStart =
  | { made: true; key: string; account: AccountRecord }
  | { made: false; account: AccountRecord };

/**
 * Makes sure that there is an account to work with: on the first start one is made with a key that
 * is shown this once. A key chosen by the operator is added to the first account whenever it is new.
 */
export async function ensureFirstAccount(
  store: Pick<Store, 'accounts' | 'keys'>,
  chosenKey: string | null,
  now: number,
): Promise<FirstStart> {
  const key = chosenKey ?? newCredential('mfk');
  const account = { id: newId('acc', now), name: 'default', plan: LOCAL_PLAN, createdAt: now };
  const made = await store.accounts.createFirst(account, keyRecord(account.id, key, 'first key', now));
  if (made) return { made, key, account };
  const first = await store.accounts.findFirst();
  if (!first) throw new Error('the first account was neither made nor found');
  if (chosenKey !== null) await store.keys.create(keyRecord(first.id, chosenKey, 'from MAYFLY_API_KEY', now));
  return { made, account: first };
}

/** Gives the first account one more key and returns it; only its hash is kept. */
export async function createKey(
  store: Pick<Store, 'accounts' | 'keys'>,
  name: string,
  now: number,
): Promise<string> {
  const account = await store.accounts.findFirst();
  if (!account) throw new Error('there is no account yet: start the server once');
  const key = newCredential('mfk');
  await store.keys.create(keyRecord(account.id, key, name, now));
  return key;
}

function keyRecord(accountId: string, key: string, name: string, now: number) {
  return {
    id: newId('key', now),
    accountId,
    name,
    scope: 'full' as const,
    prefix: key.slice(0, SHOWN_SECRET_LETTERS + (MADE_KEY.exec(key)?.[0].length ?? 0)),
    createdAt: now,
    expiresAt: null,
    hash: hashCredential(key),
  };
}
