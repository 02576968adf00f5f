import type { Store } from '../store/contract/index.ts';
import { ArgumentError } from './arguments.ts';
import { findAccount } from './find-account.ts';
import { isChosenByHand } from './keys.ts';
import { plain } from './text.ts';

type Accounts = Pick<Store, 'accounts' | 'keys' | 'domains'>;

/** What is deleted with an account, for the operator who has to confirm it. */
async function describe({ keys, domains }: Accounts, accountId: string): Promise<string> {
  const all = await keys.list(accountId);
  const owned = (await domains.list(accountId)).map(({ domain }) => domain);
  const own = owned.length > 0 ? `, its domains (${owned.join(', ')})` : '';
  return `its ${all.length} API key${all.length === 1 ? '' : 's'}${own}, its webhooks, its inboxes and all their messages`;
}

/**
 * Deletes an account with everything that belongs to it. When interrupted, the next call continues.
 * @returns what was done, and what is left to do
 * @throws ArgumentError, with what would be deleted, unless `yes` is given; Error for an unknown account, and
 *   for the only one
 */
export async function deleteAccount(
  store: Accounts,
  args: { account: string; yes?: true | undefined },
  now: number,
): Promise<string> {
  const { id, name } = await findAccount(store, args.account);
  const what = `account ${id} ("${plain(name)}")`;
  if (!args.yes) {
    throw new ArgumentError(
      `This deletes ${what} permanently: ${await describe(store, id)}. To delete it, run: mayfly account delete ${id} --yes`,
    );
  }
  const first = await store.accounts.findFirst();
  const chosen = (await store.keys.list(id)).some(isChosenByHand);
  const outcome = await store.accounts.delete(id, now);
  if (outcome === 'unknown')
    throw new Error(`The account ${id} was deleted by another command at the same time.`);
  if (outcome === 'last') {
    throw new Error(`The ${what} is the only one, and the server needs one. Create another account first.`);
  }
  const lines = [`Deleted ${what}.`, 'A running server rejects its keys within a second.'];
  if (chosen) lines.push('One of its keys was set by MAYFLY_API_KEY. Remove it from that setting.');
  if (first?.id === id) {
    const next = await store.accounts.findFirst();
    lines.push(
      `It was the first account. Now ${next?.id} ("${plain(next?.name ?? '')}") is the first, and a new MAYFLY_API_KEY is a key of that one.`,
    );
  }
  return lines.join('\n');
}
