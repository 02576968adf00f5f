import { type Command, Option } from 'commander';
import { addKey } from '../accounts/keys.ts';
import type { KeyScope, ListedKey } from '../accounts/sql.ts';
import { hashCredential, hasValidChecksum, isId } from '../ids.ts';
import { quoted } from '../text/nearest.ts';
import {
  ACCOUNT,
  ArgumentError,
  type Context,
  findAccountOrFirst,
  JSON_FLAG,
  type Json,
  type OfAccount,
  type Run,
  readFuture,
  readName,
} from './arguments.ts';
import { json, plain, table, time } from './text.ts';

const expired = (key: ListedKey, now: number) => key.expiresAt !== null && key.expiresAt <= now;

/** A key without the prefix of generated keys can only come from MAYFLY_API_KEY. */
export const isChosenByHand = ({ prefix }: ListedKey): boolean => !prefix.startsWith('mfk_');

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

async function createKey(
  { store, now }: Context,
  options: { name: string; scope: KeyScope; expires?: string } & OfAccount,
): Promise<string> {
  const name = await readName(options.name);
  const expiresAt = options.expires === undefined ? null : readFuture(options.expires, now);
  const { id: accountId } = await findAccountOrFirst(store, options.account);
  return (await addKey(store.keys, { accountId, name, scope: options.scope, expiresAt }, now)).key;
}

async function listKeys({ store, now }: Context, options: OfAccount & Json): Promise<string> {
  const account = await findAccountOrFirst(store, options.account);
  const keys = await store.keys.list(account.id);
  if (options.json) return json(keys);
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

function requireKeyId(text: string): void {
  if (isId('key', text)) return;
  throw new ArgumentError(
    text.startsWith('mfk_')
      ? 'A key must not be an argument, because other users can see the command line. Use its id, or run "mayfly key revoke -" and paste the key.'
      : `${quoted(text)} is not the id of a key (key_…). "mayfly key list" lists the keys with their ids.`,
  );
}

async function revokeKey(context: Context, text: string): Promise<string> {
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

export function addKeyCommands(program: Command, run: Run): void {
  const key = program.command('key').description('Manage API keys, also while the server runs');
  key
    .command('create')
    .description('Create an API key and print it; it is shown only once')
    .option('--account <account>', `${ACCOUNT} (default: the first account)`)
    .option('--name <name>', 'Name of the key', 'made on the command line')
    .addOption(
      new Option('--scope <scope>', '"full" allows every request, "read" only requests that read')
        .choices(['full', 'read'])
        .default('full'),
    )
    .option(
      '--expires <when>',
      'Time from now (90d, 12h or 30m), a date, or a date with time (default: never)',
    )
    .action(run(createKey));
  key
    .command('list')
    .description('List the keys of an account, newest first; only the first characters of each are shown')
    .option('--account <account>', `${ACCOUNT} (default: the first account)`)
    .option(...JSON_FLAG)
    .action(run(listKeys));
  key
    .command('revoke')
    .description('Revoke a key, even the last one of its account')
    .argument('<key>', 'Id of the key, or - to read the id or the key itself from standard input')
    .action(run(revokeKey));
}
