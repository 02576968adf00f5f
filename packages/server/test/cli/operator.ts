import { Command } from 'commander';
import { addOperatorCommands } from '../../src/cli/commands.ts';
import { openSqlite } from '../../src/database/sqlite/open.ts';
import { temporaryPath } from '../store/sqlite/open-sqlite.ts';
import type { Body } from '../support/api-client.ts';

/** The time on the operator's watch, epoch milliseconds: 2026-03-04T05:06:07.000Z. */
export const NOW = Date.UTC(2026, 2, 4, 5, 6, 7);

export type Operator = Awaited<ReturnType<typeof openOperator>>;

let names = 0;
/** A name that no other account of this test file has. */
export const freshName = (): string => `Team ${++names}`;

/**
 * Opens a store for an operator: the real commands on a real database, without a process for each.
 * @param path the database of a running server; one of its own without it
 */
export async function openOperator(env: Record<string, string> = {}, path?: string) {
  const own = path === undefined ? temporaryPath() : undefined;
  const store = await openSqlite({ path: path ?? own?.path ?? '', exclusive: false });
  const operator = {
    store,
    /** The time and the environment of the commands, which a test may change. */
    now: NOW,
    env,
    /** @returns what the command printed; fails as the command does */
    run: (...command: string[]): Promise<string> => operator.runWith('', ...command),
    /** The same, with that line on standard input. */
    async runWith(input: string, ...command: string[]): Promise<string> {
      const printed: string[] = [];
      const program = new Command('mayfly').exitOverride().configureOutput({ writeErr: () => undefined });
      addOperatorCommands(program, {
        env: operator.env,
        print: (text) => printed.push(text),
        now: () => operator.now,
        readLine: async () => input,
        // One store for all commands of a test: opening is the same for each.
        openStore: async () => ({ ...store, close: async () => undefined }),
      });
      await program.parseAsync(command, { from: 'user' });
      return printed.join('\n');
    },
    /** @returns what `--json` printed */
    json: async (...command: string[]): Promise<Body> =>
      JSON.parse(await operator.runWith('', ...command, '--json')),
    async close(): Promise<void> {
      await store.close();
      own?.remove();
    },
  };
  return operator;
}

/** Makes an account by the command line, under a name of its own. */
export const makeAccount = (
  operator: Operator,
  ...options: string[]
): Promise<{ id: string; name: string; plan: string; key: string }> =>
  operator.json('account', 'create', '--name', freshName(), ...options);
