import { everyAccount } from '../accounts/every-account.ts';
import type { AccountRecord } from '../accounts/sql.ts';
import { isId } from '../ids.ts';
import type { Store } from '../store.ts';
import { quoted } from '../text/nearest.ts';

const SHOWN_NAMESAKES = 5;

type Accounts = Pick<Store, 'accounts'>;

/**
 * Finds an account by its id, or by a name that no other account has.
 * @throws Error, with what to do, when there is none or more than one
 */
export async function findAccount(store: Accounts, named: string): Promise<AccountRecord> {
  const byId = isId('acc', named) ? await store.accounts.find(named) : undefined;
  if (byId) return byId;
  const found: AccountRecord[] = [];
  for await (const account of everyAccount(store)) if (account.name === named) found.push(account);
  const [only, ...others] = found;
  if (!only) {
    throw new Error(
      `No account has the id or name ${quoted(named)}. "mayfly account list" lists all accounts.`,
    );
  }
  if (others.length > 0) {
    const ids = found.slice(0, SHOWN_NAMESAKES).map(({ id }) => id);
    const more = found.length > ids.length ? ', …' : '';
    throw new Error(
      `${found.length} accounts have the name ${quoted(named)}. Use the id instead: ${ids.join(', ')}${more}`,
    );
  }
  return only;
}

/** Finds the named account, or the first one. @throws Error as {@link findAccount}, and if there is no account yet */
export async function findAccountOrFirst(store: Accounts, named: string | undefined): Promise<AccountRecord> {
  const account = named === undefined ? await store.accounts.findFirst() : await findAccount(store, named);
  if (!account)
    throw new Error('There is no account yet. Start the server once: the first start creates one.');
  return account;
}
