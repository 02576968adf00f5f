import { Command } from 'commander';
import { SETTINGS } from '../config/settings.ts';
import { didYouMean, nearest, quoted } from '../text/nearest.ts';
import { ArgumentError } from './arguments.ts';

/** Names that users try instead of `serve` or `dev`. */
const MEANS_START = ['start', 'run', 'up', 'server', 'daemon', 'launch', 'begin'];
const SETTING_PREFIX = 'MAYFLY_';
const SERVERS = ['dev', 'serve'];

/** Such as `mayfly key create`. */
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
  if (SERVERS.includes(command.name())) {
    const names = Object.values(SETTINGS).map((setting) => setting.name.slice(SETTING_PREFIX.length));
    const setting = nearest(name.replaceAll('-', '_'), names);
    const hint =
      setting === undefined ? '"mayfly config --table" lists them' : `set ${SETTING_PREFIX}${setting}`;
    return `${wrong} Settings are environment variables: ${hint}.`;
  }
  return `${wrong} "${fullName(command)} --help" lists its options.`;
}

/** Messages for errors of commander, by code; others keep commander's message. */
const EXPLAINED: Readonly<Record<string, (command: Command) => string>> = {
  'commander.unknownCommand': unknownCommand,
  'commander.unknownOption': (command) =>
    unknownOption(command, command.args.find((argument) => /^-./.test(argument)) ?? ''),
  'commander.missingArgument': (command) =>
    `"${fullName(command)}" needs the argument <${command.registeredArguments[command.args.length]?.name()}>. "${fullName(command)} --help" explains it.`,
  'commander.missingMandatoryOptionValue': (command) => {
    const missing = command.options.find(
      (option) => option.mandatory && command.getOptionValue(option.attributeName()) === undefined,
    );
    return `"${fullName(command)}" needs the option ${missing?.flags}.`;
  },
  'commander.excessArguments': (command) => {
    const expected = command.registeredArguments.length;
    const excess = command.args.slice(expected).map(quoted).join(', ');
    return expected === 0
      ? `"${fullName(command)}" takes no arguments, but was given ${excess}.`
      : `"${fullName(command)}" takes ${expected} argument${expected === 1 ? '' : 's'}; ${excess} is too much.`;
  },
};

class CliCommand extends Command {
  override createCommand(name?: string): CliCommand {
    return new CliCommand(name);
  }

  /** @throws ArgumentError always */
  override error(message: string, options: { code?: string } = {}): never {
    const explain = EXPLAINED[options.code ?? ''];
    if (explain) throw new ArgumentError(explain(this));
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
