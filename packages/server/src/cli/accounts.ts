import type { Command } from 'commander';
import { newKey } from '../accounts/keys.ts';
import { createPlans, type Plan, type Plans } from '../accounts/plans.ts';
import type { AccountRecord } from '../accounts/sql.ts';
import { monthOf } from '../clock.ts';
import { parseConfig } from '../config/config.ts';
import { newId } from '../ids.ts';
import { USAGE_THRESHOLDS } from '../usage/sql.ts';
import {
  ACCOUNT,
  ArgumentError,
  type Context,
  type Edge,
  findAccount,
  JSON_FLAG,
  type Json,
  type Run,
  readName,
  readPlan,
} from './arguments.ts';
import { isChosenByHand, tableOfKeys } from './keys.ts';
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

const describePlan = (plan: Plan): string =>
  details(COLUMNS.map(([, limit]) => [limit, shown(plan[limit], 'no limit')]));

function listPlans(plans: Plans, options: Json): string {
  const all = plans.names.map((name) => ({ name, ...plans.named(name) }));
  if (options.json) return json(all);
  return table(
    ['PLAN', ...COLUMNS.map(([head]) => head)],
    all.map((plan) => [plan.name, ...COLUMNS.map(([, limit]) => shown(plan[limit], '-'))]),
  );
}

function showPlan(plans: Plans, name: string, options: Json): string {
  const plan = plans.named(readPlan(name, plans));
  return options.json ? json({ name, ...plan }) : describePlan(plan);
}

const planName = ({ plan }: AccountRecord, plans: Plans): string =>
  plans.names.includes(plan) ? plan : `${plan} (not configured)`;

async function createAccount(
  { store, plans, now }: Context,
  options: { name: string; plan: string; keyName: string } & Json,
): Promise<string> {
  const account = {
    id: newId('acc', now),
    name: await readName(options.name),
    plan: readPlan(options.plan, plans),
    createdAt: now,
  };
  const name = await readName(options.keyName);
  const { key, record } = newKey({ accountId: account.id, name, scope: 'full', expiresAt: null }, now);
  await store.accounts.create(account, record);
  if (options.json) return json({ ...account, key });
  return details([
    ['id', account.id],
    ['name', account.name],
    ['plan', account.plan],
    ['key', `${key}   (shown only now; only its hash is stored)`],
  ]);
}

async function listAccounts({ store, plans }: Context, options: Json): Promise<string> {
  const accounts = await store.accounts.list();
  if (options.json) return json(accounts);
  return table(
    ['ID', 'NAME', 'PLAN', 'CREATED'],
    accounts.map((one) => [one.id, one.name, planName(one, plans), time(one.createdAt) ?? '']),
  );
}

async function showAccount({ store, plans, now }: Context, named: string, options: Json): Promise<string> {
  const account = await findAccount(store, named);
  const month = monthOf(now);
  const { days, taken, passed } = await store.usage.read(account.id, month, `${month}-01`);
  // `taken` also includes requests that a running server has reserved but not answered yet.
  const answered = days.reduce((sum, { requests }) => sum + requests, 0);
  const thresholds = USAGE_THRESHOLDS.map((percent) => ({ percent, reachedAt: time(passed[percent]) }));
  const keys = await store.keys.list(account.id);
  const domains = (await store.domains.list(account.id)).map(({ domain }) => domain);
  const plan = plans.names.includes(account.plan) ? plans.named(account.plan) : null;
  if (options.json) {
    const usage = { month, answered, taken, thresholds, days };
    return json({ ...account, limits: plan, usage, keys, domains });
  }
  const quota = plan && Number.isFinite(plan.requestsPerMonth) ? ` of ${plan.requestsPerMonth}` : '';
  const requests = details([
    ['answered', String(answered)],
    ['taken', `${taken}${quota}   (answered, or reserved by a running server)`],
    ...thresholds.map(({ percent, reachedAt }) => [`${percent} %`, reachedAt ?? 'not reached'] as const),
  ]);
  const limits = plan
    ? describePlan(plan)
    : 'unknown, because the plan is not configured; change it with "mayfly account set-plan"';
  return [
    details([
      ['id', account.id],
      ['name', account.name],
      ['plan', planName(account, plans)],
      ['created', time(account.createdAt) ?? ''],
    ]),
    `limits\n${indented(limits)}`,
    `requests in ${month} (UTC)\n${indented(requests)}`,
    `keys\n${indented(tableOfKeys(keys, now))}`,
    `own domains\n${indented(domains.join('\n') || 'none')}`,
  ].join('\n\n');
}

async function setPlan({ store, plans }: Context, named: string, wanted: string): Promise<string> {
  const plan = readPlan(wanted, plans);
  const before = await findAccount(store, named);
  const after = await store.accounts.setPlan(before.id, plan);
  if (!after) throw new Error(`The account ${before.id} was deleted by another command at the same time.`);
  return `Changed the plan of ${after.id} (${plain(after.name)}) from ${before.plan} to ${after.plan}.\nA running server applies it within a second.`;
}

async function deleteAccount({ store, now }: Context, named: string, options: { yes?: true }) {
  const { id, name } = await findAccount(store, named);
  const what = `account ${id} ("${plain(name)}")`;
  const keys = await store.keys.list(id);
  if (!options.yes) {
    const domains = (await store.domains.list(id)).map(({ domain }) => domain);
    const own = domains.length > 0 ? `, its domains (${domains.join(', ')})` : '';
    throw new ArgumentError(
      `This deletes ${what} permanently: its ${keys.length} API key${keys.length === 1 ? '' : 's'}${own}, its webhooks, its inboxes and all their messages. To delete it, run: mayfly account delete ${id} --yes`,
    );
  }
  const first = await store.accounts.findFirst();
  const outcome = await store.accounts.delete(id, now);
  if (outcome === 'unknown')
    throw new Error(`The account ${id} was deleted by another command at the same time.`);
  if (outcome === 'last')
    throw new Error(`The ${what} is the only one, and the server needs one. Create another account first.`);
  const lines = [`Deleted ${what}.`, 'A running server rejects its keys within a second.'];
  if (keys.some(isChosenByHand))
    lines.push('One of its keys was set by MAYFLY_API_KEY. Remove it from that setting.');
  if (first?.id === id) {
    const next = await store.accounts.findFirst();
    lines.push(
      `It was the first account. Now ${next?.id} ("${plain(next?.name ?? '')}") is the first, and a new MAYFLY_API_KEY is a key of that one.`,
    );
  }
  return lines.join('\n');
}

export function addAccountCommands(program: Command, run: Run): void {
  const account = program.command('account').description('Manage accounts, also while the server runs');
  account
    .command('create')
    .description('Create an account and print its first API key, which is shown only once')
    .requiredOption('--name <name>', 'Name of the account')
    .option('--plan <plan>', 'Plan with its limits; see "mayfly plan list"', 'developer')
    .option('--key-name <name>', 'Name of its first key', 'first key')
    .option(...JSON_FLAG)
    .action(run(createAccount));
  account
    .command('list')
    .description('List all accounts, oldest first')
    .option(...JSON_FLAG)
    .action(run(listAccounts));
  account
    .command('show')
    .description('Show the plan, limits, usage, keys and domains of an account')
    .argument('<account>', ACCOUNT)
    .option(...JSON_FLAG)
    .action(run(showAccount));
  account
    .command('set-plan')
    .description('Change the plan of an account')
    .argument('<account>', ACCOUNT)
    .argument('<plan>', 'Name of a plan; see "mayfly plan list"')
    .action(run(setPlan));
  account
    .command('delete')
    .description('Delete an account with its keys, domains, webhooks, inboxes and messages')
    .argument('<account>', ACCOUNT)
    .option('--yes', 'Delete it; without this option the command only shows what would be deleted')
    .action(run(deleteAccount));
}

export function addPlanCommands(program: Command, { env, print }: Pick<Edge, 'env' | 'print'>): void {
  const configured = () => createPlans(parseConfig(env).plans);
  const plan = program.command('plan').description('Show plans: the built-in ones and those in MAYFLY_PLANS');
  plan
    .command('list')
    .description('List all plans with their limits')
    .option(...JSON_FLAG)
    .action((options: Json) => print(listPlans(configured(), options)));
  plan
    .command('show')
    .description('Show the limits of a plan')
    .argument('<plan>', 'Name of the plan')
    .option(...JSON_FLAG)
    .action((name: string, options: Json) => print(showPlan(configured(), name, options)));
}
