import { everyAccount, newKey } from '../accounts/keys.ts';

import type { Plan, Plans } from '../accounts/plans.ts';
import type { AccountRecord, DomainRecord, ListedKey } from '../accounts/sql.ts';
import { type Month, monthOf } from '../clock.ts';
import { newId } from '../ids.ts';
import type { Store } from '../store.ts';
import { type MonthUsage, USAGE_THRESHOLDS } from '../usage/sql.ts';
import { ArgumentError, findAccount, readName, readPlan } from './arguments.ts';
import { isChosenByHand, keyAsJson, tableOfKeys } from './keys.ts';
import { details, indented, json, plain, table, time } from './text.ts';

const COLUMNS: readonly (readonly [head: string, limit: keyof Plan])[] = [
  ['REQ/MONTH', 'requestsPerMonth'],
  ['REQ/S', 'requestsPerSecond'],
  ['BURST', 'burst'],
  ['INBOXES', 'maxLiveInboxes'],
  ['TTL MINUTES', 'maxTtlMinutes'],
  ['MSG/INBOX', 'maxMessagesPerInbox'],
  ['BYTES/MSG', 'maxMessageBytes'],
  ['WEBHOOKS', 'maxWebhooks'],
];

const shown = (limit: number, none: string) => (Number.isFinite(limit) ? String(limit) : none);

/** The limits of a plan, one line each, by their names in MAYFLY_PLANS. */
const describePlan = (plan: Plan): string =>
  details(COLUMNS.map(([, limit]) => [limit, shown(plan[limit], 'no limit')]));

export function listPlans(plans: Plans, asJson = false): string {
  const all = plans.names.map((name) => ({ name, ...plans.named(name) }));
  if (asJson) return json(all);
  return table(
    ['PLAN', ...COLUMNS.map(([head]) => head)],
    all.map((plan) => [plan.name, ...COLUMNS.map(([, limit]) => shown(plan[limit], '-'))]),
  );
}

/** @throws ArgumentError for a plan that is not configured */
export function showPlan(plans: Plans, name: string, asJson = false): string {
  const plan = plans.named(readPlan(name, plans));
  return asJson ? json({ name, ...plan }) : describePlan(plan);
}

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
 * Creates an account with its first key, of scope `full`.
 * @returns its id and plan, and the key, which cannot be shown again
 * @throws ArgumentError for an invalid name or an unknown plan
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
    ['key', `${key}   (shown only now; only its hash is stored)`],
  ]);
}

/** Lists all accounts, oldest first. */
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
  /** Requests of the month that servers have reported. */
  answered: number;
  keys: ListedKey[];
  domains: DomainRecord[];
}

async function readAccount(store: Store, named: string, now: number): Promise<Shown> {
  const account = await findAccount(store, named);
  const month = monthOf(now);
  const usage = await store.usage.read(account.id, month, `${month}-01`);
  const answered = usage.days.reduce((sum, { requests }) => sum + requests, 0);
  const keys = await store.keys.list(account.id);
  const domains = await store.domains.list(account.id);
  return { account, month, usage, answered, keys, domains };
}

/** The thresholds of the quota with the time when each was reached. */
const thresholdsOf = (usage: MonthUsage) =>
  USAGE_THRESHOLDS.map((percent) => ({
    percent,
    reachedAt: time(usage.passed.find((one) => one.percent === percent)?.at ?? null),
  }));

/**
 * Shows one account: plan, limits, usage of this month, keys, domains.
 * @throws Error for an unknown account
 */
export async function showAccount(
  store: Store,
  plans: Plans,
  args: { account: string; json?: boolean | undefined },
  now: number,
): Promise<string> {
  const { account, month, usage, answered, keys, domains } = await readAccount(store, args.account, now);
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
    `limits\n${indented(plan ? describePlan(plan) : 'unknown, because the plan is not configured; change it with "mayfly account set-plan"')}`,
    `requests in ${month} (UTC)\n${indented(
      details([
        ['answered', String(answered)],
        ['taken', `${usage.taken}${quota}   (answered, or reserved by a running server)`],
        ...thresholds.map(({ percent, reachedAt }) => [`${percent} %`, reachedAt ?? 'not reached'] as const),
      ]),
    )}`,
    `keys\n${indented(tableOfKeys(keys, now))}`,
    `own domains\n${indented(domains.length > 0 ? domains.map(({ domain }) => domain).join('\n') : 'none')}`,
  ];
  return sections.join('\n\n');
}

/** @throws ArgumentError for a plan that is not configured; Error for an unknown account */
export async function setPlan(
  store: Pick<Store, 'accounts'>,
  plans: Plans,
  args: { account: string; plan: string },
): Promise<string> {
  const plan = readPlan(args.plan, plans);
  const before = await findAccount(store, args.account);
  const after = await store.accounts.setPlan(before.id, plan);
  if (!after) throw new Error(`The account ${before.id} was deleted by another command at the same time.`);
  return `Changed the plan of ${after.id} (${plain(after.name)}) from ${before.plan} to ${after.plan}.\nA running server applies it within a second.`;
}

/** What is deleted with an account, for the confirmation. */
async function describe(
  { keys, domains }: Pick<Store, 'keys' | 'domains'>,
  accountId: string,
): Promise<string> {
  const all = await keys.list(accountId);
  const owned = (await domains.list(accountId)).map(({ domain }) => domain);
  const own = owned.length > 0 ? `, its domains (${owned.join(', ')})` : '';
  return `its ${all.length} API key${all.length === 1 ? '' : 's'}${own}, its webhooks, its inboxes and all their messages`;
}

/**
 * Deletes an account with everything that belongs to it. If interrupted, the next call continues.
 * @returns what was done, and what is left to do
 * @throws ArgumentError without `yes`; Error for an unknown account, and for the last one
 */
export async function deleteAccount(
  store: Pick<Store, 'accounts' | 'keys' | 'domains'>,
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
