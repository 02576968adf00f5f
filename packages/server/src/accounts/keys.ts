import { hashCredential, newCredential, newId } from '../ids.ts';
import type { Store } from '../store.ts';
import type { KeyRecord, KeyScope } from './sql.ts';

/** One for each pipeline, person and program of a large team; a list of them is one answer without pages. */
export const MAX_KEYS_PER_ACCOUNT = 1000;
/** Secret letters of a key that lists show, so that people can tell keys apart: too few to guess by. */
const SHOWN_SECRET_LETTERS = 4;
const MADE_KEY = /^mfk_/;

/** Properties of a new key. */
export interface WantedKey {
  accountId: string;
  /** What the key is for. */
  name: string;
  scope: KeyScope;
  /** Epoch milliseconds; null: never. */
  expiresAt: number | null;
}

/** A new key: what is stored of it, and the credential itself, which is shown once. */
export interface MadeKey {
  record: KeyRecord & { hash: string };
  key: string;
}

/**
 * Makes an API key, which is valid once its record is stored.
 * @param chosen the credential, if the operator chose it; otherwise it is random
 */
export function newKey(wanted: WantedKey, now: number, chosen: string | null = null): MadeKey {
  const { accountId, name, scope, expiresAt } = wanted;
  const key = chosen ?? newCredential('mfk');
  const prefix = key.slice(0, SHOWN_SECRET_LETTERS + (MADE_KEY.exec(key)?.[0].length ?? 0));
  const id = newId('key', now);
  const hash = hashCredential(key);
  return { key, record: { id, accountId, name, scope, prefix, createdAt: now, expiresAt, hash } };
}

/**
 * Makes an API key and stores it.
 * @throws AppError `limit_reached` at {@link MAX_KEYS_PER_ACCOUNT}
 */
export async function addKey(
  store: Pick<Store['keys'], 'create'>,
  wanted: WantedKey,
  now: number,
): Promise<MadeKey> {
  const made = newKey(wanted, now);
  await store.create(made.record, MAX_KEYS_PER_ACCOUNT);
  return made;
}
