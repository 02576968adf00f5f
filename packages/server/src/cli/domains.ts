import type { Store } from '../store.ts';
import { ArgumentError, findAccount, readDomain } from './arguments.ts';
import { json, plain, table, time } from './text.ts';

type DomainsStore = Pick<Store, 'accounts' | 'domains'>;

/**
 * Assigns a domain to one account. Does nothing if the account has it already.
 * @param shared the domains in MAYFLY_DOMAINS
 * @throws ArgumentError for an invalid and for a shared domain; Error when another account has it
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
      `The domain ${domain} is in MAYFLY_DOMAINS and so shared by all accounts. Remove it from that setting first.`,
    );
  }
  const account = await findAccount(store, args.account);
  const whose = `${account.id} (${plain(account.name)})`;
  if (await store.domains.add({ domain, accountId: account.id, createdAt: now })) {
    return `The domain ${domain} now belongs to ${whose}. Only that account can create inboxes on it.`;
  }
  const owner = await store.domains.find(domain);
  if (owner?.accountId === account.id) return `The domain ${domain} already belongs to ${whose}.`;
  throw new Error(
    `The domain ${domain} belongs to ${owner?.accountId ?? 'another account'}. Remove it from that account first: mayfly domain remove ${domain}`,
  );
}

/** @throws ArgumentError for an invalid domain; Error when no account has it */
export async function removeDomain(store: DomainsStore, text: string): Promise<string> {
  const domain = readDomain(text);
  if (!(await store.domains.remove(domain))) {
    throw new Error(`No account has the domain ${domain}. "mayfly domain list" lists all of them.`);
  }
  return `Removed the domain ${domain}. Its inboxes get no more mail, and can be read until they expire.`;
}

/** Lists the domains of one account or of all, sorted by name. */
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
