import { MayflyError } from '@mayfly/client';
import { assertUsed, parse, UsageError } from './arguments.ts';
import { COMMANDS, CONDITIONS, type Context } from './commands.ts';

/** Set by the release script. */
const VERSION = '0.2.0';

/** Exit codes by the `code` of an error; every other error of the library has exit code 2. */
const EXIT_CODES: Record<string, number> = {
  wait_timeout: 3,
  unexpected_message: 4,
  plan_not_met: 5,
  invalid_option: 1,
  invalid_request: 1,
};

const COLUMN = 60;
const HELP = `Usage: mf <command> [options]

${Object.entries(COMMANDS)
  .map(([name, { usage, does }]) => {
    const own = usage.replace(CONDITIONS, '').replace(/ --timeout$/, '');
    return `${`  mf ${name} ${own}`.trimEnd().padEnd(COLUMN)}  ${does}`;
  })
  .join('\n')}

Waits: --subject, --from, --to, --body (part of it), --timeout 30 (seconds). Every command: --json, --inbox ID-or-address.
Environment: MAYFLY_URL, MAYFLY_API_KEY (not needed on this machine); INBOX_ID and INBOX_TOKEN by eval "$(mf new --export)".
Exit codes: 0 found, 1 usage, 2 not reachable or refused, 3 timed out, 4 silence broken, 5 the mails differ from the plan.
`;

async function execute(args: string[], context: Context): Promise<void> {
  const { values, positionals } = parse(args);
  const [name = '', ...rest] = positionals;
  if (values.version) return context.out(`${VERSION}\n`);
  if (values.help || name === 'help') return context.out(HELP);
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command)
    throw new UsageError(`${name ? `"${name}" is not a command.` : 'No command was given.'}\n\n${HELP}`);
  const options = [...command.usage.matchAll(/--([a-z-]+)/g)].map(([, option = '']) => option);
  assertUsed(name, options, command.words ?? 0, values, rest);
  await command.run(context, values, rest);
}

/** A file of the command line cannot be read or written; the message of Node.js names it. */
const isFileError = (error: unknown): error is Error =>
  error instanceof Error && 'syscall' in error && 'path' in error;

/** Runs one command. @param args without the program name @returns the exit code */
export async function run(args: string[], context: Context): Promise<number> {
  try {
    await execute(args, context);
    return 0;
  } catch (error) {
    if (context.signal.aborted) return 130;
    if (isFileError(error)) {
      context.note(`${error.message}\n`);
      return 1;
    }
    if (!(error instanceof UsageError) && !MayflyError.is(error)) throw error;
    context.note(`${error.message}\n`);
    return error instanceof UsageError ? 1 : (EXIT_CODES[error.code] ?? 2);
  }
}
