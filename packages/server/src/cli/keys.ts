import { addKey } from '../accounts/keys.ts';
import { hashCredential, hasValidChecksum, isId } from '../ids.ts';
import type { KeyScope, ListedKey, Store } from '../store/contract/index.ts';
import { ArgumentError, readFuture, readName } from './arguments.ts';
import { findAccountOrFirst } from './find-account.ts';
import { json, plain, table, time } from './text.ts';

type KeysStore = Pick<Store, 'accounts' | 'keys'>;

const expired = (key: ListedKey, now: number) => key.expiresAt !== null && key.expiresAt <= now;

/** True for a key that was not made here but given as MAYFLY_API_KEY. */
export const isChosenByHand = ({ prefix }: ListedKey): boolean => !prefix.startsWith('mfk_');

/** A key as JSON shows it: the API's form. */
export const keyAsJson = ({ id, name, scope, prefix, createdAt, expiresAt, lastUsedAt }: ListedKey) => ({
  id,
  name,
  scope,
  prefix,
  createdAt: time(createdAt),
  expiresAt: time(expiresAt),
  lastUsedAt: time(lastUsedAt),
});

/** Keys as a table, in the order given. */
export const tableOfKeys = (keys: readonly ListedKey[], now: number): string =>
  table(
    ['ID', 'PREFIX', 'NAME', 'SCOPE', 'CREATED', 'EXPIRES', 'LAST USED'],
    keys.map((key) => [
      key.id,
      key.prefix,
      key.name,
      key.scope,
      time(key.createdAt) ?? '',
      `${time(key.expiresAt) ?? 'never'}${expired(key, now) ? ' (expired)' : ''}`,
      time(key.lastUsedAt) ?? 'not yet',
    ]),
  );

export interface CreateKeyArguments {
  /** Id or name; the first account without it. */
  account?: string | undefined;
  name: string;
  scope: KeyScope;
  /** As {@link readFuture} takes it; never without it. */
  expires?: string | undefined;
}

/**
 * Makes a key for an account.
 * @returns the key alone: scripts take it from there
 * @throws ArgumentError; Error when no account is meant; AppError `limit_reached` when it has keys enough
 */
export async function createKey(store: KeysStore, args: CreateKeyArguments, now: number): Promise<string> {
  const name = await readName(args.name);
  const expiresAt = args.expires === undefined ? null : readFuture(args.expires, now);
  const account = await findAccountOrFirst(store, args.account);
  const { key } = await addKey(
    store.keys,
    { accountId: account.id, name, scope: args.scope, expiresAt },
    now,
  );
  return key;
}

/** The keys of an account, newest first; of the first account where none is named. */
export async function listKeys(
  store: KeysStore,
  args: { account?: string | undefined; json?: boolean | undefined },
  now: number,
): Promise<string> {
  const account = await findAccountOrFirst(store, args.account);
  const keys = await store.keys.list(account.id);
  if (args.json) return json(keys.map(keyAsJson));
  return `keys of ${account.id} (${plain(account.name)})\n${tableOfKeys(keys, now)}`;
}

async function findKey(store: KeysStore, named: string, now: number): Promise<ListedKey> {
  if (isId('key', named)) {
    const key = await store.keys.find(named);
    if (key) return key;
    throw new Error(`no key has the id ${named}, or it is revoked already`);
  }
  if (named === '') throw new ArgumentError('no key was given');
  if (!hasValidChecksum(named)) throw new ArgumentError('the key is incomplete or mistyped');
  const found = await store.keys.findByHash(hashCredential(named), now);
  const key = found && (await store.keys.find(found.key.id));
  if (!key) throw new Error('no live key is this one: it is revoked already, expired, or not of this server');
  return key;
}

/**
 * Checks what stands on the command line of `key revoke`: an id, or `-` for standard input.
 * @throws ArgumentError for a key itself: other users of the machine see command lines
 */
export function readKeyArgument(text: string): string {
  if (text === '-' || isId('key', text)) return text;
  if (text.startsWith('mfk_')) {
    throw new ArgumentError(
      'a key itself is not taken from the command line, which others can see: give its id, or run `mayfly key revoke -` and paste it there',
    );
  }
  throw new ArgumentError(`${plain(text)} is not a key's id (key_…); mayfly key list shows them`);
}

/**
 * Revokes a key, also an account's last one.
 * @param named its id, or the key itself
 * @returns what was done, and what is left to do
 * @throws ArgumentError for a mistyped key; Error for one that is unknown or revoked already
 */
export async function revokeKey(store: KeysStore, named: string, now: number): Promise<string> {
  const key = await findKey(store, named, now);
  const { id, accountId, prefix, name } = key;
  if ((await store.keys.revoke(accountId, id, false, now)) === 'unknown') {
    throw new Error(`${id} was revoked by somebody else just now`);
  }
  const lines = [
    `revoked ${id} (${plain(prefix)}…, "${plain(name)}") of account ${accountId}`,
    'A running server refuses it within a second.',
  ];
  if (isChosenByHand(key)) {
    lines.push('It was chosen by hand: take it out of MAYFLY_API_KEY too. It stays revoked if you forget.');
  }
  const left = (await store.keys.list(accountId)).filter((one) => one.scope === 'full' && !expired(one, now));
  if (left.length === 0) {
    lines.push(
      `The account has no live key of scope full left. Another one: mayfly key create --account ${accountId}`,
    );
  }
  return lines.join('\n');
}
