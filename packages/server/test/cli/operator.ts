import { Command } from 'commander';
import { addOperatorCommands } from '../../src/cli/commands.ts';
import { openSqlite } from '../../src/database/sqlite/open.ts';
import type { Store } from '../../src/store.ts';
import { temporaryPath } from '../store/sqlite/open-sqlite.ts';

/** The time on the operator's watch, epoch milliseconds: 2026-03-04T05:06:07.000Z. */
export const NOW = Date.UTC(2026, 2, 4, 5, 6, 7);

/** An operator at a store: the real commands on a real database, without a process for each. */
export interface Operator {
  store: Store;
  /** What the command printed; fails as the command does. */
  run(...command: string[]): Promise<string>;
  /** The same, with that line on standard input. */
  runWith(input: string, ...command: string[]): Promise<string>;
  /** What `--json` printed. */
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
  json(...command: string[]): Promise<any>;
  /** May be set: goes to another time, to another environment. */
  now: number;
  env: Record<string, string>;
  close(): Promise<void>;
}

let names = 0;
/** A name that no other account of this test file has. */
export const freshName = (): string => `Team ${++names}`;

/**
 * @param env the operator's environment
 * @param path the database of a running server; one of its own without it
 */
export async function openOperator(env: Record<string, string> = {}, path?: string): Promise<Operator> {
  const own = path === undefined ? temporaryPath() : undefined;
  const store = await openSqlite({ path: path ?? own?.path ?? '', exclusive: false });

  const runWith = async (input: string, ...command: string[]) => {
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
  };
  const operator: Operator = {
    store,
    now: NOW,
    env,
    runWith,
    run: (...command) => runWith('', ...command),
    json: async (...command) => JSON.parse(await runWith('', ...command, '--json')),
    async close() {
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
