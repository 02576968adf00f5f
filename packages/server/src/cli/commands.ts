import { type Command, Option } from 'commander';
import { createPlans, type Plans } from '../accounts/plans.ts';
import { type Config, parseConfig } from '../config/config.ts';
import type { KeyScope, Store } from '../store/contract/index.ts';
import { createAccount, listAccounts, NEW_ACCOUNT_PLAN, setPlan, showAccount } from './accounts.ts';
import { deleteAccount } from './delete-account.ts';
import { addDomain, listDomains, removeDomain } from './domains.ts';
import { createKey, listKeys, readKeyArgument, revokeKey } from './keys.ts';
import { listPlans, showPlan } from './plans.ts';

/** What the commands need of the process. */
export interface Edge {
  /** The environment, which is the configuration. */
  env: Record<string, string | undefined>;
  print(text: string): void;
  /** Epoch milliseconds. */
  now(): number;
  /** The first line of standard input, once; `question` is shown to a person only. */
  readLine(question: string): Promise<string>;
  /** The server's store, beside it. */
  openStore(config: Config): Promise<Store>;
}

type Json = { json?: true };
type OfAccount = { account?: string };

const JSON_FLAG = ['--json', 'print JSON, for scripts'] as const;
const ACCOUNT = 'an account: its id, or its name when no other has it';

/** Runs a command with the configured plans on the open store, and prints what it answers. */
type Run = (work: (store: Store, plans: Plans, config: Config) => Promise<string>) => Promise<void>;

function addAccountCommands(program: Command, { now }: Edge, run: Run): void {
  const account = program.command('account').description('accounts of the server, also while it runs');
  account
    .command('create')
    .description('make an account and print its first API key, this once')
    .requiredOption('--name <name>', 'whose it is')
    .option('--plan <plan>', 'what it may use', NEW_ACCOUNT_PLAN)
    .option('--key-name <name>', 'what its first key is for', 'first key')
    .option(...JSON_FLAG)
    .action((options: { name: string; plan: string; keyName: string } & Json) =>
      run((store, plans) => createAccount(store, plans, options, now())),
    );
  account
    .command('list')
    .description('show all accounts')
    .option(...JSON_FLAG)
    .action((options: Json) => run((store, plans) => listAccounts(store, plans, options.json)));
  account
    .command('show')
    .description("show an account's plan, limits, usage, keys and domains")
    .argument('<account>', ACCOUNT)
    .option(...JSON_FLAG)
    .action((named: string, options: Json) =>
      run((store, plans) => showAccount(store, plans, { account: named, ...options }, now())),
    );
  account
    .command('set-plan')
    .description('put an account on another plan')
    .argument('<account>', ACCOUNT)
    .argument('<plan>', 'one of `mayfly plan list`')
    .action((named: string, plan: string) =>
      run((store, plans) => setPlan(store, plans, { account: named, plan })),
    );
  account
    .command('delete')
    .description('delete an account with its keys, domains, webhooks, inboxes and mail, for good')
    .argument('<account>', ACCOUNT)
    .option('--yes', 'do it; without it the command only says what would go')
    .action((named: string, options: { yes?: true }) =>
      run((store) => deleteAccount(store, { account: named, ...options }, now())),
    );
}

function addKeyCommands(program: Command, { now, readLine }: Edge, run: Run): void {
  const key = program.command('key').description('API keys of an account, also while the server runs');
  key
    .command('create')
    .description('make an API key and print it, this once')
    .option('--account <account>', `${ACCOUNT} (default: the first account)`)
    .option('--name <name>', 'what the key is for', 'made on the command line')
    .addOption(
      new Option('--scope <scope>', 'full may do all, read only reads')
        .choices(['full', 'read'])
        .default('full'),
    )
    .option('--expires <when>', '90d, 12h or 30m from now, a date, or a date with time (default: never)')
    .action((options: { name: string; scope: KeyScope; expires?: string } & OfAccount) =>
      run((store) => createKey(store, options, now())),
    );
  key
    .command('list')
    .description('show the keys of an account, newest first; never the keys themselves')
    .option('--account <account>', `${ACCOUNT} (default: the first account)`)
    .option(...JSON_FLAG)
    .action((options: OfAccount & Json) => run((store) => listKeys(store, options, now())));
  key
    .command('revoke')
    .description('revoke a key, also the last one of its account')
    .argument('<key>', 'its id; or - to give the id or the key itself on standard input')
    .action(async (text: string) => {
      const argument = readKeyArgument(text);
      const named = argument === '-' ? (await readLine('The key, or its id: ')).trim() : argument;
      await run((store) => revokeKey(store, named, now()));
    });
}

function addDomainCommands(program: Command, { now }: Edge, run: Run): void {
  const domain = program
    .command('domain')
    .description('domains of single accounts, also while the server runs');
  domain
    .command('add')
    .description('give a domain to one account')
    .argument('<domain>', 'whose mail is received for that account alone')
    .requiredOption('--account <account>', ACCOUNT)
    .action((name: string, { account }: { account: string }) =>
      run((store, _, { domains }) => addDomain(store, { domain: name, account }, domains, now())),
    );
  domain
    .command('remove')
    .description('take a domain from its account')
    .argument('<domain>')
    .action((name: string) => run((store) => removeDomain(store, name)));
  domain
    .command('list')
    .description(
      "show the domains of all accounts; MAYFLY_DOMAINS, which are everybody's, are not among them",
    )
    .option('--account <account>', ACCOUNT)
    .option(...JSON_FLAG)
    .action((options: OfAccount & Json) => run((store) => listDomains(store, options)));
}

function addPlanCommands(program: Command, { env, print }: Edge): void {
  const configured = () => createPlans(parseConfig(env).plans);
  const plan = program.command('plan').description('the plans in force: the built-in ones and MAYFLY_PLANS');
  plan
    .command('list')
    .description('show all plans with their limits')
    .option(...JSON_FLAG)
    .action((options: Json) => print(listPlans(configured(), options.json)));
  plan
    .command('show')
    .description('show the limits of a plan')
    .argument('<plan>')
    .option(...JSON_FLAG)
    .action((name: string, options: Json) => print(showPlan(configured(), name, options.json)));
}

/** Adds `account`, `key`, `plan` and `domain`: what an operator does to a server's store. */
export function addOperatorCommands(program: Command, edge: Edge): void {
  const run: Run = async (work) => {
    const config = parseConfig(edge.env);
    const store = await edge.openStore(config);
    try {
      edge.print(await work(store, createPlans(config.plans), config));
    } finally {
      await store.close();
    }
  };
  addAccountCommands(program, edge, run);
  addKeyCommands(program, edge, run);
  addPlanCommands(program, edge);
  addDomainCommands(program, edge, run);
}
