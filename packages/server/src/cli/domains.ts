import type { Command } from 'commander';
import {
  ACCOUNT,
  ArgumentError,
  type Context,
  findAccount,
  JSON_FLAG,
  type Json,
  type OfAccount,
  type Run,
  readDomain,
} from './arguments.ts';
import { json, plain, table, time } from './text.ts';

async function addDomain({ store, config, now }: Context, text: string, options: { account: string }) {
  const domain = readDomain(text);
  if (config.domains.includes(domain))
    throw new ArgumentError(
      `The domain ${domain} is in MAYFLY_DOMAINS and so shared by all accounts. Remove it from that setting first.`,
    );
  const account = await findAccount(store, options.account);
  const whose = `${account.id} (${plain(account.name)})`;
  if (await store.domains.add({ domain, accountId: account.id, createdAt: now }))
    return `The domain ${domain} now belongs to ${whose}. Only that account can create inboxes on it.`;
  const owner = await store.domains.find(domain);
  if (owner?.accountId === account.id) return `The domain ${domain} already belongs to ${whose}.`;
  throw new Error(
    `The domain ${domain} belongs to ${owner?.accountId ?? 'another account'}. Remove it from that account first: mayfly domain remove ${domain}`,
  );
}

async function removeDomain({ store }: Context, text: string): Promise<string> {
  const domain = readDomain(text);
  if (!(await store.domains.remove(domain)))
    throw new Error(`No account has the domain ${domain}. "mayfly domain list" lists all of them.`);
  return `Removed the domain ${domain}. Its inboxes get no more mail, and can be read until they expire.`;
}

async function listDomains({ store }: Context, options: OfAccount & Json): Promise<string> {
  const account = options.account === undefined ? null : await findAccount(store, options.account);
  const domains = await store.domains.list(account?.id ?? null);
  if (options.json) return json(domains);
  return table(
    ['DOMAIN', 'ACCOUNT', 'SINCE'],
    domains.map(({ domain, accountId, createdAt }) => [domain, accountId, time(createdAt) ?? '']),
  );
}

export function addDomainCommands(program: Command, run: Run): void {
  const domain = program
    .command('domain')
    .description('Manage domains of single accounts, also while the server runs');
  domain
    .command('add')
    .description('Assign a domain to one account')
    .argument('<domain>', 'Domain name; only that account can create inboxes on it')
    .requiredOption('--account <account>', ACCOUNT)
    .action(run(addDomain));
  domain
    .command('remove')
    .description('Remove the domain from its account')
    .argument('<domain>', 'Domain name')
    .action(run(removeDomain));
  domain
    .command('list')
    .description(
      'List the domains of single accounts; those in MAYFLY_DOMAINS are shared by all and not listed',
    )
    .option('--account <account>', `${ACCOUNT} (default: all accounts)`)
    .option(...JSON_FLAG)
    .action(run(listDomains));
}
