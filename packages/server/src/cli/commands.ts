import { Command, Option } from 'commander';
import { createPlans, type Plans } from '../accounts/plans.ts';
import type { KeyScope } from '../accounts/sql.ts';
import { type Config, parseConfig } from '../config/config.ts';
import { SETTINGS } from '../config/settings.ts';
import type { Store } from '../store.ts';
import { didYouMean, nearest, quoted } from '../text/nearest.ts';
import {
  createAccount,
  deleteAccount,
  listAccounts,
  listPlans,
  NEW_ACCOUNT_PLAN,
  setPlan,
  showAccount,
  showPlan,
} from './accounts.ts';
import { ArgumentError } from './arguments.ts';
import { addDomain, listDomains, removeDomain } from './domains.ts';
import { createKey, listKeys, readKeyArgument, revokeKey } from './keys.ts';

/** Names that users try instead of `serve` or `dev`. */
const MEANS_START = ['start', 'run', 'up', 'server', 'daemon', 'launch', 'begin'];
const SETTING_PREFIX = 'MAYFLY_';

/** The full name of a command, such as `mayfly key create`. */
const fullName = (command: Command): string =>
  command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name();

const listed = (words: readonly string[]): string =>
  words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;

function unknownCommand(command: Command): string {
  const given = command.args[0] ?? '';
  const wrong = `${quoted(given)} is not a command of "${fullName(command)}".`;
  const known = command.commands.map((one) => one.name());
  if (!command.parent && MEANS_START.includes(given.toLowerCase())) {
    return `${wrong} Use "mayfly dev" on a laptop or in CI, "mayfly serve" in production.`;
  }
  return `${wrong}${didYouMean(given, known)} The commands are ${listed(known)}.`;
}

function unknownOption(command: Command, flag: string): string {
  const wrong = `${quoted(flag)} is not an option of "${fullName(command)}".`;
  const name = flag.replace(/^-+/, '').replace(/=.*/s, '');
  const options = command.options.flatMap(({ long }) => (long ? [long.slice(2)] : []));
  const option = nearest(name, options);
  if (option !== undefined) return `${wrong} Did you mean "--${option}"?`;
  if (['dev', 'serve'].includes(command.name())) {
    const names = Object.values(SETTINGS).map((setting) => setting.name.slice(SETTING_PREFIX.length));
    const setting = nearest(name.replaceAll('-', '_'), names);
    const hint =
      setting === undefined ? '"mayfly config --table" lists them' : `set ${SETTING_PREFIX}${setting}`;
    return `${wrong} Settings are environment variables: ${hint}.`;
  }
  return `${wrong} "${fullName(command)} --help" lists its options.`;
}

class CliCommand extends Command {
  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

  /** @throws ArgumentError always */
  override error(message: string, { code }: { code?: string } = {}): never {
    if (code === 'commander.unknownCommand') throw new ArgumentError(unknownCommand(this));
    if (code === 'commander.unknownOption')
      throw new ArgumentError(unknownOption(this, this.args.find((argument) => /^-./.test(argument)) ?? ''));
    throw new ArgumentError(`"${fullName(this)}": ${message.replace(/^error: /, '')}`);
  }
}

export const createProgram = (version: string): Command =>
  new CliCommand('mayfly')
    .description('Disposable inboxes for automated tests: a REST API and a real SMTP server.')
    .version(version, '-V, --version', 'Show the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [command]', 'Show help for a command')
    .exitOverride();

/** Access of the commands to the process. */
export interface Edge {
  env: Record<string, string | undefined>;
  print(text: string): void;
  now(): number;
  /** Reads the first line of standard input; `question` is shown when that is a terminal. */
  readLine(question: string): Promise<string>;
  /** Opens the store, also while a server runs. */
  openStore(config: Config): Promise<Store>;
}

type Json = { json?: true };
type OfAccount = { account?: string };

const JSON_FLAG = ['--json', 'Print JSON, for scripts'] as const;
const ACCOUNT = 'Id of the account, or its name if no other account has it';

/** Opens the store, runs a command and prints its result. */
type Run = (work: (store: Store, plans: Plans, config: Config) => Promise<string>) => Promise<void>;

function addAccountCommands(program: Command, { now }: Edge, run: Run): void {
  const account = program.command('account').description('Manage accounts, also while the server runs');
  account
    .command('create')
    .description('Create an account and print its first API key, which is shown only once')
    .requiredOption('--name <name>', 'Name of the account')
    .option('--plan <plan>', 'Plan with its limits; see "mayfly plan list"', NEW_ACCOUNT_PLAN)
    .option('--key-name <name>', 'Name of its first key', 'first key')
    .option(...JSON_FLAG)
    .action((options: { name: string; plan: string; keyName: string } & Json) =>
      run((store, plans) => createAccount(store, plans, options, now())),
    );
  account
    .command('list')
    .description('List all accounts, oldest first')
    .option(...JSON_FLAG)
    .action((options: Json) => run((store, plans) => listAccounts(store, plans, options.json)));
  account
    .command('show')
    .description('Show the plan, limits, usage, keys and domains of an account')
    .argument('<account>', ACCOUNT)
    .option(...JSON_FLAG)
    .action((named: string, options: Json) =>
      run((store, plans) => showAccount(store, plans, { account: named, ...options }, now())),
    );
  account
    .command('set-plan')
    .description('Change the plan of an account')
    .argument('<account>', ACCOUNT)
    .argument('<plan>', 'Name of a plan; see "mayfly plan list"')
    .action((named: string, plan: string) =>
      run((store, plans) => setPlan(store, plans, { account: named, plan })),
    );
  account
    .command('delete')
    .description('Delete an account with its keys, domains, webhooks, inboxes and messages')
    .argument('<account>', ACCOUNT)
    .option('--yes', 'Delete it; without this option the command only shows what would be deleted')
    .action((named: string, options: { yes?: true }) =>
      run((store) => deleteAccount(store, { account: named, ...options }, now())),
    );
}

function addKeyCommands(program: Command, { now, readLine }: Edge, run: Run): void {
  const key = program.command('key').description('Manage API keys, also while the server runs');
  key
    .command('create')
    .description('Create an API key and print it; it is shown only once')
    .option('--account <account>', `${ACCOUNT} (default: the first account)`)
    .option('--name <name>', 'Name of the key', 'made on the command line')
    .addOption(
      new Option('--scope <scope>', '"full" allows every request, "read" only requests that read')
        .choices(['full', 'read'])
        .default('full'),
    )
    .option(
      '--expires <when>',
      'Time from now (90d, 12h or 30m), a date, or a date with time (default: never)',
    )
    .action((options: { name: string; scope: KeyScope; expires?: string } & OfAccount) =>
      run((store) => createKey(store, options, now())),
    );
  key
    .command('list')
    .description('List the keys of an account, newest first; only the first characters of each are shown')
    .option('--account <account>', `${ACCOUNT} (default: the first account)`)
    .option(...JSON_FLAG)
    .action((options: OfAccount & Json) => run((store) => listKeys(store, options, now())));
  key
    .command('revoke')
    .description('Revoke a key, even the last one of its account')
    .argument('<key>', 'Id of the key, or - to read the id or the key itself from standard input')
    .action(async (text: string) => {
      const argument = readKeyArgument(text);
      const named = argument === '-' ? (await readLine('API key or its id: ')).trim() : argument;
      await run((store) => revokeKey(store, named, now()));
    });
}

function addDomainCommands(program: Command, { now }: Edge, run: Run): void {
  const domain = program
    .command('domain')
    .description('Manage domains of single accounts, also while the server runs');
  domain
    .command('add')
    .description('Assign a domain to one account')
    .argument('<domain>', 'Domain name; only that account can create inboxes on it')
    .requiredOption('--account <account>', ACCOUNT)
    .action((name: string, { account }: { account: string }) =>
      run((store, _, { domains }) => addDomain(store, { domain: name, account }, domains, now())),
    );
  domain
    .command('remove')
    .description('Remove the domain from its account')
    .argument('<domain>', 'Domain name')
    .action((name: string) => run((store) => removeDomain(store, name)));
  domain
    .command('list')
    .description(
      'List the domains of single accounts; those in MAYFLY_DOMAINS are shared by all and not listed',
    )
    .option('--account <account>', `${ACCOUNT} (default: all accounts)`)
    .option(...JSON_FLAG)
    .action((options: OfAccount & Json) => run((store) => listDomains(store, options)));
}

function addPlanCommands(program: Command, { env, print }: Edge): void {
  const configured = () => createPlans(parseConfig(env).plans);
  const plan = program.command('plan').description('Show plans: the built-in ones and those in MAYFLY_PLANS');
  plan
    .command('list')
    .description('List all plans with their limits')
    .option(...JSON_FLAG)
    .action((options: Json) => print(listPlans(configured(), options.json)));
  plan
    .command('show')
    .description('Show the limits of a plan')
    .argument('<plan>', 'Name of the plan')
    .option(...JSON_FLAG)
    .action((name: string, options: Json) => print(showPlan(configured(), name, options.json)));
}

/** Adds `account`, `key`, `plan` and `domain`. */
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
