import { isId } from '../ids.ts';
import type { AccountRecord, Store } from '../store/contract/index.ts';

/** Accounts asked for at once: a few ten kilobytes. */
const PAGE = 100;
/** Accounts of one name that are told apart in an error. */
const SHOWN_NAMESAKES = 5;

type Accounts = Pick<Store, 'accounts'>;

/** Every account, oldest first. */
export async function* everyAccount({ accounts }: Accounts): AsyncGenerator<AccountRecord> {
  for (let after: string | null = null; ; ) {
    const page = await accounts.list({ limit: PAGE, after });
    yield* page.accounts;
    after = page.accounts.at(-1)?.id ?? null;
    if (!page.hasMore || after === null) return;
  }
}

/**
 * The account that an operator means by an id, or by a name that no other account has.
 * @throws Error, with what to do, when that is none or not one
 */
export async function findAccount(store: Accounts, named: string): Promise<AccountRecord> {
  const byId = isId('acc', named) ? await store.accounts.find(named) : undefined;
  if (byId) return byId;
  const found: AccountRecord[] = [];
  for await (const account of everyAccount(store)) if (account.name === named) found.push(account);
  const [only, ...others] = found;
  if (!only) throw new Error(`no account has the id or name ${named}; mayfly account list shows them`);
  if (others.length > 0) {
    const ids = found.slice(0, SHOWN_NAMESAKES).map(({ id }) => id);
    const more = found.length > ids.length ? ', …' : '';
    throw new Error(`${found.length} accounts are called ${named}: take the id (${ids.join(', ')}${more})`);
  }
  return only;
}

/**
 * The account that an operator named, or the first.
 * @throws Error as {@link findAccount}, and before the first start
 */
export async function findAccountOrFirst(store: Accounts, named: string | undefined): Promise<AccountRecord> {
  const account = named === undefined ? await store.accounts.findFirst() : await findAccount(store, named);
  if (!account) throw new Error('there is no account yet: start the server once');
  return account;
}
