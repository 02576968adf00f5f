import { Command, Option } from 'commander';
import { createPlans } from '../accounts/plans.ts';
import { type Config, parseConfig } from '../config/config.ts';
import { SETTINGS } from '../config/settings.ts';
import type { Store } from '../store.ts';
import { didYouMean, nearest, quoted } from '../text/nearest.ts';
import {
  createAccount,
  deleteAccount,
  listAccounts,
  listPlans,
  setPlan,
  showAccount,
  showPlan,
} from './accounts.ts';
import { ArgumentError, type Context, type Json } from './arguments.ts';
import { addDomain, listDomains, removeDomain } from './domains.ts';
import { createKey, listKeys, revokeKey } from './keys.ts';

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
export interface Edge extends Pick<Context, 'readLine'> {
  env: Record<string, string | undefined>;
  print(text: string): void;
  now(): number;
  /** Opens the store, also while a server runs. */
  openStore(config: Config): Promise<Store>;
}

/** Opens the store, runs a command on it and prints its result. */
type Run = <Arguments extends unknown[]>(
  work: (context: Context, ...given: Arguments) => Promise<string>,
) => (...given: Arguments) => Promise<void>;

const JSON_FLAG = ['--json', 'Print JSON, for scripts'] as const;
const ACCOUNT = 'Id of the account, or its name if no other account has it';

function addAccountCommands(program: Command, run: Run): void {
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

function addKeyCommands(program: Command, run: Run): void {
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
    .action(run(createKey));
  key
    .command('list')
    .description('List the keys of an account, newest first; only the first characters of each are shown')
    .option('--account <account>', `${ACCOUNT} (default: the first account)`)
    .option(...JSON_FLAG)
    .action(run(listKeys));
  key
    .command('revoke')
    .description('Revoke a key, even the last one of its account')
    .argument('<key>', 'Id of the key, or - to read the id or the key itself from standard input')
    .action(run(revokeKey));
}

function addDomainCommands(program: Command, run: Run): void {
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

function addPlanCommands(program: Command, { env, print }: Edge): void {
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

/** Adds `account`, `key`, `plan` and `domain`. */
export function addOperatorCommands(program: Command, edge: Edge): void {
  const run: Run =
    (work) =>
    async (...given) => {
      const config = parseConfig(edge.env);
      const store = await edge.openStore(config);
      const plans = createPlans(config.plans);
      try {
        edge.print(await work({ store, plans, config, now: edge.now(), readLine: edge.readLine }, ...given));
      } finally {
        await store.close();
      }
    };
  addAccountCommands(program, run);
  addKeyCommands(program, run);
  addPlanCommands(program, edge);
  addDomainCommands(program, run);
}
