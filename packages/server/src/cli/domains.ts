import type { Store } from '../store/contract/index.ts';
import { ArgumentError, readDomain } from './arguments.ts';
import { findAccount } from './find-account.ts';
import { json, plain, table, time } from './text.ts';

type DomainsStore = Pick<Store, 'accounts' | 'domains'>;

/**
 * Gives a domain to one account; again for the same account changes nothing.
 * @param shared the domains that MAYFLY_DOMAINS serves to all
 * @throws ArgumentError for no domain and for a shared one; Error when another account has it
 */
export async function addDomain(
  store: DomainsStore,
  args: { domain: string; account: string },
  shared: readonly string[],
  now: number,
): Promise<string> {
  const domain = readDomain(args.domain);
  if (shared.includes(domain)) {
    throw new ArgumentError(
      `MAYFLY_DOMAINS serves ${domain} to every account: take it out there before it can be one account's own`,
    );
  }
  const account = await findAccount(store, args.account);
  const whose = `${account.id} (${plain(account.name)})`;
  if (await store.domains.add({ domain, accountId: account.id, createdAt: now })) {
    return `${domain} belongs to ${whose} now; only that account has inboxes there`;
  }
  const owner = await store.domains.find(domain);
  if (owner?.accountId === account.id) return `${domain} belongs to ${whose} already`;
  throw new Error(`${domain} belongs to ${owner?.accountId ?? 'another account'}: remove it there first`);
}

/** @throws ArgumentError for no domain; Error when no account has it */
export async function removeDomain(store: DomainsStore, text: string): Promise<string> {
  const domain = readDomain(text);
  if (!(await store.domains.remove(domain))) {
    throw new Error(`no account has the domain ${domain}; mayfly domain list shows those that have one`);
  }
  return `${domain} belongs to nobody now; its inboxes live on to their end and get no more mail`;
}

/** The domains of an account, or of all, by name. */
export async function listDomains(
  store: DomainsStore,
  args: { account?: string | undefined; json?: boolean | undefined },
): Promise<string> {
  const account = args.account === undefined ? null : await findAccount(store, args.account);
  const domains = await store.domains.list(account?.id ?? null);
  if (args.json) {
    return json(domains.map((domain) => ({ ...domain, createdAt: time(domain.createdAt) })));
  }
  return table(
    ['DOMAIN', 'ACCOUNT', 'SINCE'],
    domains.map(({ domain, accountId, createdAt }) => [domain, accountId, time(createdAt) ?? '']),
  );
}
