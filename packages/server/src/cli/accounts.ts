import { newKey } from '../accounts/keys.ts';
import type { Plans } from '../accounts/plans.ts';
import { newId } from '../ids.ts';
import { monthOf } from '../quota/calendar.ts';
import type {
  AccountRecord,
  DomainRecord,
  ListedKey,
  Month,
  MonthUsage,
  Store,
} from '../store/contract/index.ts';
import { USAGE_THRESHOLDS } from '../store/contract/retention.ts';
import { readName, readPlan } from './arguments.ts';
import { everyAccount, findAccount } from './find-account.ts';
import { keyAsJson, tableOfKeys } from './keys.ts';
import { describePlan } from './plans.ts';
import { details, indented, json, plain, table, time } from './text.ts';

/** The plan of an account that an operator makes without naming one: it has limits, and generous ones. */
export const NEW_ACCOUNT_PLAN = 'developer';

const accountAsJson = ({ id, name, plan, createdAt }: AccountRecord) => ({
  id,
  name,
  plan,
  createdAt: time(createdAt),
});

const planName = (account: AccountRecord, plans: Plans): string =>
  plans.names.includes(account.plan) ? account.plan : `${account.plan} (not configured)`;

/**
 * Makes an account with its first key, of scope full.
 * @returns its id and plan, and the key, which nothing shows again
 * @throws ArgumentError for a name or a plan that cannot be
 */
export async function createAccount(
  store: Pick<Store, 'accounts'>,
  plans: Plans,
  args: { name: string; plan: string; keyName: string; json?: boolean | undefined },
  now: number,
): Promise<string> {
  const account = {
    id: newId('acc', now),
    name: await readName(args.name),
    plan: readPlan(args.plan, plans),
    createdAt: now,
  };
  const name = await readName(args.keyName);
  const { key, record } = newKey({ accountId: account.id, name, scope: 'full', expiresAt: null }, now);
  await store.accounts.create(account, record);
  if (args.json) return json({ ...accountAsJson(account), key });
  return details([
    ['id', account.id],
    ['name', account.name],
    ['plan', account.plan],
    ['key', `${key}   (shown this once: only its hash is kept)`],
  ]);
}

/** Every account, oldest first. */
export async function listAccounts(
  store: Pick<Store, 'accounts'>,
  plans: Plans,
  asJson = false,
): Promise<string> {
  const accounts: AccountRecord[] = [];
  for await (const account of everyAccount(store)) accounts.push(account);
  if (asJson) return json(accounts.map(accountAsJson));
  return table(
    ['ID', 'NAME', 'PLAN', 'CREATED'],
    accounts.map((one) => [one.id, one.name, planName(one, plans), time(one.createdAt) ?? '']),
  );
}

interface Shown {
  account: AccountRecord;
  month: Month;
  usage: MonthUsage;
  /** Requests of the month that servers have told of. */
  answered: number;
  keys: ListedKey[];
  domains: DomainRecord[];
}

async function look(store: Store, named: string, now: number): Promise<Shown> {
  const account = await findAccount(store, named);
  const month = monthOf(now);
  const usage = await store.usage.read(account.id, month, `${month}-01`);
  const answered = usage.days.reduce((sum, { requests }) => sum + requests, 0);
  const keys = await store.keys.list(account.id);
  const domains = await store.domains.list(account.id);
  return { account, month, usage, answered, keys, domains };
}

/** When each threshold of the quota was reached. */
const thresholdsOf = (usage: MonthUsage) =>
  USAGE_THRESHOLDS.map((percent) => ({
    percent,
    reachedAt: time(usage.passed.find((one) => one.percent === percent)?.at ?? null),
  }));

/**
 * All about one account: plan, limits, this month's usage, keys, domains.
 * @throws Error when no account is meant
 */
export async function showAccount(
  store: Store,
  plans: Plans,
  args: { account: string; json?: boolean | undefined },
  now: number,
): Promise<string> {
  const { account, month, usage, answered, keys, domains } = await look(store, args.account, now);
  const plan = plans.names.includes(account.plan) ? plans.named(account.plan) : null;
  const thresholds = thresholdsOf(usage);
  if (args.json) {
    return json({
      ...accountAsJson(account),
      limits: plan,
      usage: { month, answered, taken: usage.taken, thresholds, days: usage.days },
      keys: keys.map(keyAsJson),
      domains: domains.map(({ domain }) => domain),
    });
  }
  const quota = plan && Number.isFinite(plan.requestsPerMonth) ? ` of ${plan.requestsPerMonth}` : '';
  const sections = [
    details([
      ['id', account.id],
      ['name', account.name],
      ['plan', planName(account, plans)],
      ['created', time(account.createdAt) ?? ''],
    ]),
    `limits\n${indented(plan ? describePlan(plan) : 'none known: put the account on a configured plan')}`,
    `requests in ${month} (UTC)\n${indented(
      details([
        ['answered', String(answered)],
        ['taken', `${usage.taken}${quota}   (answered, or set aside by a running server)`],
        ...thresholds.map(({ percent, reachedAt }) => [`${percent} %`, reachedAt ?? 'not reached'] as const),
      ]),
    )}`,
    `keys\n${indented(tableOfKeys(keys, now))}`,
    `domains of its own\n${indented(domains.length > 0 ? domains.map(({ domain }) => domain).join('\n') : 'none')}`,
  ];
  return sections.join('\n\n');
}

/**
 * Puts an account on another plan.
 * @throws ArgumentError for a plan that is not configured; Error when no account is meant
 */
export async function setPlan(
  store: Pick<Store, 'accounts'>,
  plans: Plans,
  args: { account: string; plan: string },
): Promise<string> {
  const plan = readPlan(args.plan, plans);
  const before = await findAccount(store, args.account);
  const after = await store.accounts.setPlan(before.id, plan);
  if (!after) throw new Error(`the account ${before.id} is gone`);
  return `${after.id} (${plain(after.name)}) is on the plan ${after.plan} now; before: ${before.plan}\nA running server goes by it within a second.`;
}
