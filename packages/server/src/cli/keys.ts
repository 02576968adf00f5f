import { addKey } from '../accounts/keys.ts';
import type { KeyScope, ListedKey } from '../accounts/sql.ts';
import { hashCredential, hasValidChecksum, isId } from '../ids.ts';
import type { Store } from '../store.ts';
import { quoted } from '../text/nearest.ts';
import { ArgumentError, findAccountOrFirst, readFuture, readName } from './arguments.ts';
import { json, plain, table, time } from './text.ts';

type KeysStore = Pick<Store, 'accounts' | 'keys'>;

const expired = (key: ListedKey, now: number) => key.expiresAt !== null && key.expiresAt <= now;

/** True for a key set by MAYFLY_API_KEY. */
export const isChosenByHand = ({ prefix }: ListedKey): boolean => !prefix.startsWith('mfk_');

export const keyAsJson = ({ id, name, scope, prefix, createdAt, expiresAt, lastUsedAt }: ListedKey) => ({
  id,
  name,
  scope,
  prefix,
  createdAt: time(createdAt),
  expiresAt: time(expiresAt),
  lastUsedAt: time(lastUsedAt),
});

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
      time(key.lastUsedAt) ?? 'never',
    ]),
  );

export interface CreateKeyArguments {
  /** Id or name; default: the first account. */
  account?: string | undefined;
  name: string;
  scope: KeyScope;
  /** Expiry in a form that {@link readFuture} parses; default: never. */
  expires?: string | undefined;
}

/**
 * @returns only the key, for scripts
 * @throws ArgumentError; Error for an unknown account; AppError `limit_reached` when it has too many keys
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

/** Lists keys, newest first; default: those of the first account. */
export async function listKeys(
  store: KeysStore,
  args: { account?: string | undefined; json?: boolean | undefined },
  now: number,
): Promise<string> {
  const account = await findAccountOrFirst(store, args.account);
  const keys = await store.keys.list(account.id);
  if (args.json) return json(keys.map(keyAsJson));
  return `Keys of ${account.id} (${plain(account.name)})\n${tableOfKeys(keys, now)}`;
}

async function findKey(store: KeysStore, named: string, now: number): Promise<ListedKey> {
  if (isId('key', named)) {
    const key = await store.keys.find(named);
    if (key) return key;
    throw new Error(
      `No key has the id ${named}, or it was revoked before. "mayfly key list" lists the keys.`,
    );
  }
  if (named === '') throw new ArgumentError('Standard input is empty. Write the key, or its id, to it.');
  if (!hasValidChecksum(named)) {
    throw new ArgumentError('The key is incomplete or mistyped: its checksum is wrong.');
  }
  const found = await store.keys.findByHash(hashCredential(named), now);
  const key = found && (await store.keys.find(found.key.id));
  if (!key) {
    throw new Error(
      'This server has no such key: it was revoked, has expired, or belongs to another server.',
    );
  }
  return key;
}

/**
 * Checks the argument of `key revoke`: an id, or `-` for standard input.
 * @throws ArgumentError for a key itself, because other users of the machine can see command lines
 */
export function readKeyArgument(text: string): string {
  if (text === '-' || isId('key', text)) return text;
  if (text.startsWith('mfk_')) {
    throw new ArgumentError(
      'A key must not be an argument, because other users can see the command line. Use its id, or run "mayfly key revoke -" and paste the key.',
    );
  }
  throw new ArgumentError(
    `${quoted(text)} is not the id of a key (key_…). "mayfly key list" lists the keys with their ids.`,
  );
}

/**
 * Revokes a key, even the last one of its account. @param named its id, or the key itself
 * @returns what was done, and what is left to do
 * @throws ArgumentError for a mistyped key; Error for one that is unknown or already revoked
 */
export async function revokeKey(store: KeysStore, named: string, now: number): Promise<string> {
  const key = await findKey(store, named, now);
  const { id, accountId, prefix, name } = key;
  if ((await store.keys.revoke(accountId, id, false, now)) === 'unknown') {
    throw new Error(`The key ${id} was revoked by another command at the same time.`);
  }
  const lines = [
    `Revoked ${id} (${plain(prefix)}…, "${plain(name)}") of account ${accountId}.`,
    'A running server rejects it within a second.',
  ];
  if (isChosenByHand(key)) {
    lines.push('It was set by MAYFLY_API_KEY. Remove it from that setting; until then it stays revoked.');
  }
  const left = (await store.keys.list(accountId)).filter((one) => one.scope === 'full' && !expired(one, now));
  if (left.length === 0) {
    lines.push(
      `The account has no valid key of scope "full" left. To create one, run: mayfly key create --account ${accountId}`,
    );
  }
  return lines.join('\n');
}
