import type { Store } from '../store/contract/index.ts';
import { ArgumentError } from './arguments.ts';
import { findAccount } from './find-account.ts';
import { isChosenByHand } from './keys.ts';
import { plain } from './text.ts';

type Accounts = Pick<Store, 'accounts' | 'keys' | 'domains'>;

/** What goes with an account, for whoever is asked whether it shall. */
async function describe({ keys, domains }: Accounts, accountId: string): Promise<string> {
  const all = await keys.list(accountId);
  const owned = (await domains.list(accountId)).map(({ domain }) => domain);
  const own = owned.length > 0 ? `, its domains (${owned.join(', ')})` : '';
  return `its ${all.length} key${all.length === 1 ? '' : 's'}${own}, its webhooks, its inboxes and all their mail`;
}

/**
 * Deletes an account with all that it has; stopped on its way, it goes on when it is called again.
 * @returns what was done, and what is left to do
 * @throws ArgumentError, with what would go, unless `yes` is given; Error when no account is meant, and for
 *   the only one
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
      `this deletes ${what} for good: ${await describe(store, id)}. If it shall be: mayfly account delete ${id} --yes`,
    );
  }
  const first = await store.accounts.findFirst();
  const chosen = (await store.keys.list(id)).some(isChosenByHand);
  const outcome = await store.accounts.delete(id, now);
  if (outcome === 'unknown') throw new Error(`${id} was deleted by somebody else just now`);
  if (outcome === 'last') {
    throw new Error(`${what} is the only one, and a server needs one: make another before`);
  }
  const lines = [`deleted ${what}`, 'A running server refuses its keys within a second.'];
  if (chosen) lines.push('A key of it was chosen by hand: take it out of MAYFLY_API_KEY too.');
  if (first?.id === id) {
    const next = await store.accounts.findFirst();
    lines.push(
      `It was the first account; now ${next?.id} ("${plain(next?.name ?? '')}") is. A new key in MAYFLY_API_KEY opens that one.`,
    );
  }
  return lines.join('\n');
}
