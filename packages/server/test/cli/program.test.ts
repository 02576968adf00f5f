import { describe, expect, it } from 'vitest';
import { ArgumentError } from '../../src/cli/arguments.ts';
import { addOperatorCommands, createProgram } from '../../src/cli/commands.ts';

/** Runs a command line; nothing behind the parsing is reached. */
async function run(line: string): Promise<void> {
  const program = createProgram('0.0.0');
  program.command('dev').action(() => undefined);
  program.command('serve').action(() => undefined);
  addOperatorCommands(program, {
    env: {},
    print: () => undefined,
    now: () => 0,
    readLine: async () => '',
    openStore: async () => {
      throw new Error('reached the store');
    },
  });
  await program.parseAsync(line.split(' ').filter(Boolean), { from: 'user' });
}

const START = 'Use "mayfly dev" on a laptop or in CI, "mayfly serve" in production.';
const ALL = 'The commands are dev, serve, account, key, plan and domain.';
const VARIABLES = 'Settings are environment variables:';

describe('the command line', () => {
  it.each([
    ['start', `"start" is not a command of "mayfly". ${START}`],
    ['up', `"up" is not a command of "mayfly". ${START}`],
    ['sevre', `"sevre" is not a command of "mayfly". Did you mean "serve"? ${ALL}`],
    ['xyz', `"xyz" is not a command of "mayfly". ${ALL}`],
    [
      'key creat',
      '"creat" is not a command of "mayfly key". Did you mean "create"? The commands are create, list and revoke.',
    ],
    ['dev --port 9000', `"--port" is not an option of "mayfly dev". ${VARIABLES} set MAYFLY_HTTP_PORT.`],
    [
      'serve --smtp-port=25',
      `"--smtp-port=25" is not an option of "mayfly serve". ${VARIABLES} set MAYFLY_SMTP_PORT.`,
    ],
    ['dev -d', `"-d" is not an option of "mayfly dev". ${VARIABLES} "mayfly config --table" lists them.`],
    [
      'key create --acount x',
      '"--acount" is not an option of "mayfly key create". Did you mean "--account"?',
    ],
    [
      'key list --zzzzz',
      '"--zzzzz" is not an option of "mayfly key list". "mayfly key list --help" lists its options.',
    ],
    [
      'key create --scope admin',
      `"mayfly key create": option '--scope <scope>' argument 'admin' is invalid. Allowed choices are full, read.`,
    ],
    ['key create --name', `"mayfly key create": option '--name <name>' argument missing`],
    ['account create', `"mayfly account create": required option '--name <name>' not specified`],
    ['plan show', `"mayfly plan show": missing required argument 'plan'`],
    ['dev now', `"mayfly dev": too many arguments for 'dev'. Expected 0 arguments but got 1: now.`],
  ])('says for `mayfly %s` what to do', async (line, message) => {
    await expect(run(line)).rejects.toEqual(new ArgumentError(message));
  });

  it('never shows an argument that would control the terminal', async () => {
    await expect(run('\u001b[2J')).rejects.toThrow('"\\u{1b}[2J" is not a command');
  });

  it('takes what is right', async () => {
    await run('dev');
    await expect(run('key list --json')).rejects.toThrow('reached the store');
  });
});
