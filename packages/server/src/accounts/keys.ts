import { hashCredential, newCredential, newId } from '../ids.ts';
import type { Store } from '../store.ts';
import type { KeyRecord, KeyScope } from './sql.ts';

/** One for each pipeline, person and program of a large team; few enough for a list without pages. */
export const MAX_KEYS_PER_ACCOUNT = 1000;
/** Letters of the secret that lists show, to tell keys apart: too few to guess a key. */
const SHOWN_SECRET_LETTERS = 4;
const MADE_KEY = /^mfk_/;

export interface WantedKey {
  accountId: string;
  name: string;
  scope: KeyScope;
  /** Epoch milliseconds; null: never. */
  expiresAt: number | null;
}

/** The stored record, and the credential itself, which is shown once. */
export interface MadeKey {
  record: KeyRecord & { hash: string };
  key: string;
}

/** Makes an API key, valid once its record is stored. @param chosen the operator's credential; null: a random one */
export function newKey(wanted: WantedKey, now: number, chosen: string | null = null): MadeKey {
  const { accountId, name, scope, expiresAt } = wanted;
  const key = chosen ?? newCredential('mfk');
  const prefix = key.slice(0, SHOWN_SECRET_LETTERS + (MADE_KEY.exec(key)?.[0].length ?? 0));
  const id = newId('key', now);
  const hash = hashCredential(key);
  return { key, record: { id, accountId, name, scope, prefix, createdAt: now, expiresAt, hash } };
}

/** Makes and stores an API key. @throws AppError `limit_reached` at {@link MAX_KEYS_PER_ACCOUNT} */
export async function addKey(
  store: Pick<Store['keys'], 'create'>,
  wanted: WantedKey,
  now: number,
): Promise<MadeKey> {
  const made = newKey(wanted, now);
  await store.create(made.record, MAX_KEYS_PER_ACCOUNT);
  return made;
}
