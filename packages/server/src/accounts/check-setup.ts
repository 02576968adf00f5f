import type { Logger } from '../log.ts';
import type { Store } from '../store.ts';
import type { Plans } from './plans.ts';
import type { AccountRecord } from './sql.ts';

/** Every account, oldest first. */
export async function* everyAccount({ accounts }: Pick<Store, 'accounts'>): AsyncGenerator<AccountRecord> {
  for (let after: string | null = null; ; ) {
    const page = await accounts.list({ limit: 200, after });
    yield* page.accounts;
    after = page.accounts.at(-1)?.id ?? null;
    if (!page.hasMore || after === null) return;
  }
}

/** The oldest accounts are checked: a start must not wait for a hundred thousand. */
const MAX_ACCOUNTS = 10_000;
/** Ids shown for one missing plan. */
const NAMED_ACCOUNTS = 5;

export interface SetupDeps {
  store: Pick<Store, 'accounts' | 'domains'>;
  plans: Plans;
  domains: readonly string[];
  log: Logger;
}

async function warnOfPlans({ store, plans, log }: SetupDeps): Promise<void> {
  const missing = new Map<string, { accounts: number; ids: string[] }>();
  let seen = 0;
  for await (const { id, plan } of everyAccount(store)) {
    if (++seen > MAX_ACCOUNTS) break;
    if (plans.names.includes(plan)) continue;
    const known = missing.get(plan) ?? { accounts: 0, ids: [] };
    known.accounts += 1;
    if (known.ids.length < NAMED_ACCOUNTS) known.ids.push(id);
    missing.set(plan, known);
  }
  for (const [plan, { accounts, ids }] of missing) {
    log.warn(
      { plan, accounts, ids },
      'Accounts have a plan that is not configured. Add it to MAYFLY_PLANS, or change their plan with "mayfly account set-plan".',
    );
  }
}

async function warnOfDomains({ store, domains, log }: SetupDeps): Promise<void> {
  for (const domain of domains) {
    const owner = await store.domains.find(domain);
    if (!owner) continue;
    log.warn(
      { domain, accountId: owner.accountId },
      'A domain of one account is also in MAYFLY_DOMAINS, so every account can use it. Remove it from that setting, or run "mayfly domain remove".',
    );
  }
}

/** Logs a warning where the configuration and the store contradict each other. */
export async function checkSetup(deps: SetupDeps): Promise<void> {
  await warnOfPlans(deps);
  await warnOfDomains(deps);
}
