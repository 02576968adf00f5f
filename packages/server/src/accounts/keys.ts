import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { hashCredential, newCredential, newId } from '../ids.ts';
import type { Store } from '../store.ts';
import { LOCAL_PLAN } from './plans.ts';
import type { KeyRecord } from './sql.ts';

export const MAX_KEYS_PER_ACCOUNT = 1000;
/** Number of letters of the secret that key lists show. The others keep the key secret. */
const SHOWN_SECRET_LETTERS = 4;
const MADE_KEY = /^mfk_/;

export type WantedKey = Pick<KeyRecord, 'accountId' | 'name' | 'scope' | 'expiresAt'>;

/** Creates an API key. It is valid once its record is stored. @param chosen the key; null for a random one */
export function newKey(wanted: WantedKey, now: number, chosen: string | null = null) {
  const { accountId, name, scope, expiresAt } = wanted;
  const key = chosen ?? newCredential('mfk');
  const prefix = key.slice(0, SHOWN_SECRET_LETTERS + (MADE_KEY.exec(key)?.[0].length ?? 0));
  const id = newId('key', now);
  const hash = hashCredential(key);
  return { key, record: { id, accountId, name, scope, prefix, createdAt: now, expiresAt, hash } };
}

export async function addKey(store: Pick<Store['keys'], 'create'>, wanted: WantedKey, now: number) {
  const made = newKey(wanted, now);
  await store.create(made.record, MAX_KEYS_PER_ACCOUNT);
  return made;
}

/** Limit for all clients together, so that a flood of new accounts cannot fill the storage. */
export const SIGN_UPS_PER_MINUTE = 10;
/** Limit of one client address. It leaves a person some retries after mistyping a name. */
export const SIGN_UPS_PER_ADDRESS = 5;
const OF_ALL = { burst: SIGN_UPS_PER_MINUTE, requestsPerSecond: SIGN_UPS_PER_MINUTE / 60 };
const OF_ADDRESS = { burst: SIGN_UPS_PER_ADDRESS, requestsPerSecond: SIGN_UPS_PER_ADDRESS / 600 };
const ALL = 'sign-ups';

type Taken = { retryAfterSeconds: number } | null;

interface SignUpDeps {
  store: Pick<Store, 'accounts'>;
  rate: { take(key: string, rate: typeof OF_ALL): Taken; giveBack(key: string): void };
  clock: Pick<Clock, 'now'>;
}

/** Creates an account and its first key. @throws AppError `rate_limited`, `unavailable` */
export async function signUp(
  { store, rate, clock }: SignUpDeps,
  plan: string,
  name: string,
  address: string,
) {
  requireRate(rate.take(ALL, OF_ALL), `${SIGN_UPS_PER_MINUTE} sign-ups per minute`);
  const own = rate.take(`${ALL} ${address}`, OF_ADDRESS);
  if (own?.retryAfterSeconds) rate.giveBack(ALL);
  requireRate(own, `${SIGN_UPS_PER_ADDRESS} sign-ups from one address, then one every 2 minutes`);
  const now = clock.now();
  const account = { id: newId('acc', now), name, plan, createdAt: now };
  const { record, key } = fullKey(account.id, 'first key', now, null);
  await store.accounts.create(account, record);
  return { account, key };
}

function requireRate(taken: Taken, limit: string): void {
  const { retryAfterSeconds = 0 } = taken ?? {};
  if (retryAfterSeconds === 0) return;
  const message = `This server accepts ${limit}. Retry after ${retryAfterSeconds} seconds.`;
  throw new AppError('rate_limited', message, { retryAfterSeconds });
}

/**
 * Creates the first account with its key. If it exists, only adds the key that the operator has chosen.
 * @returns `key`: null if the account existed
 */
export async function ensureFirstAccount(
  store: Pick<Store, 'accounts' | 'keys'>,
  chosenKey: string | null,
  now: number,
) {
  const account = { id: newId('acc', now), name: 'default', plan: LOCAL_PLAN, createdAt: now };
  const { key, record } = fullKey(account.id, 'first key', now, chosenKey);
  if (await store.accounts.createFirst(account, record)) return { key, account };
  const first = await store.accounts.findFirst();
  if (!first) throw new Error('The first account was neither created nor found.');
  if (chosenKey !== null)
    await store.keys.create(fullKey(first.id, 'from MAYFLY_API_KEY', now, chosenKey).record);
  return { key: null, account: first };
}

const fullKey = (accountId: string, name: string, now: number, chosen: string | null) =>
  newKey({ accountId, name, scope: 'full', expiresAt: null }, now, chosen);
