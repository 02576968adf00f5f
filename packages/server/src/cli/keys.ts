import { addKey } from '../accounts/keys.ts';
import type { KeyScope, ListedKey } from '../accounts/sql.ts';
import { hashCredential, hasValidChecksum, isId } from '../ids.ts';
import { quoted } from '../text/nearest.ts';
import {
  ArgumentError,
  type Context,
  findAccountOrFirst,
  type Json,
  type OfAccount,
  readFuture,
  readName,
} from './arguments.ts';
import { json, plain, table, time } from './text.ts';

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

/** @returns only the key, for scripts */
export async function createKey(
  { store, now }: Context,
  options: { name: string; scope: KeyScope; expires?: string } & OfAccount,
): Promise<string> {
  const name = await readName(options.name);
  const expiresAt = options.expires === undefined ? null : readFuture(options.expires, now);
  const { id: accountId } = await findAccountOrFirst(store, options.account);
  return (await addKey(store.keys, { accountId, name, scope: options.scope, expiresAt }, now)).key;
}

export async function listKeys({ store, now }: Context, options: OfAccount & Json): Promise<string> {
  const account = await findAccountOrFirst(store, options.account);
  const keys = await store.keys.list(account.id);
  if (options.json) return json(keys.map(keyAsJson));
  return `Keys of ${account.id} (${plain(account.name)})\n${tableOfKeys(keys, now)}`;
}

async function findKey({ store, now }: Context, named: string): Promise<ListedKey> {
  if (isId('key', named)) {
    const key = await store.keys.find(named);
    if (key) return key;
    throw new Error(
      `No key has the id ${named}, or it was revoked before. "mayfly key list" lists the keys.`,
    );
  }
  if (named === '') throw new ArgumentError('Standard input is empty. Write the key, or its id, to it.');
  if (!hasValidChecksum(named))
    throw new ArgumentError('The key is incomplete or mistyped: its checksum is wrong.');
  const found = await store.keys.findByHash(hashCredential(named), now);
  const key = found && (await store.keys.find(found.key.id));
  if (key) return key;
  throw new Error('This server has no such key: it was revoked, has expired, or belongs to another server.');
}

/** @throws ArgumentError for what is no id, and for a key itself, because others can see command lines */
function requireKeyId(text: string): void {
  if (isId('key', text)) return;
  throw new ArgumentError(
    text.startsWith('mfk_')
      ? 'A key must not be an argument, because other users can see the command line. Use its id, or run "mayfly key revoke -" and paste the key.'
      : `${quoted(text)} is not the id of a key (key_…). "mayfly key list" lists the keys with their ids.`,
  );
}

/** Revokes a key, even the last one of its account. @param text its id; `-` for the first line of standard input */
export async function revokeKey(context: Context, text: string): Promise<string> {
  if (text !== '-') requireKeyId(text);
  const named = text === '-' ? (await context.readLine('API key or its id: ')).trim() : text;
  const { store, now } = context;
  const key = await findKey(context, named);
  const { id, accountId, prefix, name } = key;
  if ((await store.keys.revoke(accountId, id, false, now)) === 'unknown')
    throw new Error(`The key ${id} was revoked by another command at the same time.`);
  const lines = [
    `Revoked ${id} (${plain(prefix)}…, "${plain(name)}") of account ${accountId}.`,
    'A running server rejects it within a second.',
  ];
  if (isChosenByHand(key))
    lines.push('It was set by MAYFLY_API_KEY. Remove it from that setting; until then it stays revoked.');
  const left = await store.keys.list(accountId);
  if (!left.some((one) => one.scope === 'full' && !expired(one, now)))
    lines.push(
      `The account has no valid key of scope "full" left. To create one, run: mayfly key create --account ${accountId}`,
    );
  return lines.join('\n');
}
