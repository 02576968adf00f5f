import { MayflyError } from '@mayfly/client';
import { assertUsed, parse, UsageError } from './arguments.ts';
import { COMMANDS, type Context } from './commands.ts';
import { HELP } from './help.ts';

/** By the `code` of an error; everything else of the library is 2. */
const EXIT_CODES: Record<string, number> = {
  wait_timeout: 3,
  unexpected_message: 4,
  invalid_option: 1,
  invalid_request: 1,
};

/**
 * Runs one command.
 * @param args without the program
 * @returns the exit code
 */
export async function run(args: string[], context: Context): Promise<number> {
  try {
    const { values, positionals } = parse(args);
    const [name = '', ...rest] = positionals;
    if (values.help || name === 'help') {
      context.out(HELP);
      return 0;
    }
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (!command)
      throw new UsageError(`${name ? `"${name}" is not a command.` : 'No command was given.'}\n\n${HELP}`);
    assertUsed(name, values, rest);
    await command(context, values, rest);
    return 0;
  } catch (error) {
    if (context.signal.aborted) return 130;
    if (error instanceof UsageError) {
      context.note(`${error.message}\n`);
      return 1;
    }
    if (!MayflyError.is(error)) throw error;
    context.note(`${error.message}\n`);
    return EXIT_CODES[error.code] ?? 2;
  }
}
