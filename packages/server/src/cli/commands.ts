import { Command } from 'commander';
import { createPlans } from '../accounts/plans.ts';
import { nearestSetting, parseConfig } from '../config/config.ts';
import { didYouMean, nearest, quoted } from '../text/nearest.ts';
import { addAccountCommands, addPlanCommands } from './accounts.ts';
import { ArgumentError, type Edge, type Run } from './arguments.ts';
import { addDomainCommands } from './domains.ts';
import { addKeyCommands } from './keys.ts';

/** Unknown commands that probably mean `serve` or `dev`. */
const MEANS_START = ['start', 'run', 'up', 'server', 'daemon', 'launch', 'begin'];

const fullName = (command: Command): string =>
  command.parent ? `${fullName(command.parent)} ${command.name()}` : command.name();

function unknownCommand(command: Command): string {
  const given = command.args[0] ?? '';
  const wrong = `${quoted(given)} is not a command of "${fullName(command)}".`;
  const known = command.commands.map((one) => one.name());
  if (!command.parent && MEANS_START.includes(given.toLowerCase()))
    return `${wrong} Use "mayfly dev" on a laptop or in CI, "mayfly serve" in production.`;
  return `${wrong}${didYouMean(given, known)} The commands are ${new Intl.ListFormat('en-GB').format(known)}.`;
}

function unknownOption(command: Command, flag: string): string {
  const wrong = `${quoted(flag)} is not an option of "${fullName(command)}".`;
  const name = flag.replace(/^-+/, '').replace(/=.*/s, '');
  const options = command.options.flatMap(({ long }) => (long ? [long.slice(2)] : []));
  const option = nearest(name, options);
  if (option !== undefined) return `${wrong} Did you mean "--${option}"?`;
  if (['dev', 'serve'].includes(command.name())) {
    const setting = nearestSetting(name.replaceAll('-', '_'));
    const hint = setting === undefined ? '"mayfly config --table" lists them' : `set ${setting}`;
    return `${wrong} Settings are environment variables: ${hint}.`;
  }
  return `${wrong} "${fullName(command)} --help" lists its options.`;
}

class CliCommand extends Command {
  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

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

export function addOperatorCommands(program: Command, edge: Omit<Edge, 'onStep'>): void {
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
