import type { Command } from 'commander';
import { parseConfig } from '../config/config.ts';

/** What the command needs of the process and the store. */
export interface MigrateEdge {
  /** The environment, which is the configuration. */
  env: Record<string, string | undefined>;
  print(text: string): void;
  /** Copies a database; see store/transfer. */
  transfer(
    dataDir: string,
    url: string,
    onTable: (table: { name: string; rows: number; hash: string }) => void,
  ): Promise<{ rows: number }[]>;
}

/** Digits of a hash that are printed; the whole of it was compared. */
const PRINTED_DIGITS = 16;

/** Adds `migrate`, which copies an embedded database to PostgreSQL. */
export function addMigrateCommand(program: Command, { env, print, transfer }: MigrateEdge): void {
  program
    .command('migrate')
    .description('Copy the embedded database to an empty PostgreSQL database; stop the server first')
    .option('--from <folder>', 'Data folder of the embedded database (default: MAYFLY_DATA_DIR)')
    .option(
      '--to <url>',
      'URL of the PostgreSQL database (default: MAYFLY_DATABASE_URL, which other users of the machine cannot see)',
    )
    .action(async (options: { from?: string; to?: string }) => {
      const given = {
        ...(options.from !== undefined && { MAYFLY_DATA_DIR: options.from }),
        ...(options.to !== undefined && {
          MAYFLY_DATABASE_URL: options.to,
          MAYFLY_DATABASE_URL_FILE: undefined,
        }),
      };
      const { dataDir, databaseUrl } = parseConfig({ ...env, ...given });
      if (databaseUrl === null) {
        throw new Error(
          'There is no PostgreSQL database to copy to. Give its URL with --to or in MAYFLY_DATABASE_URL.',
        );
      }
      const tables = await transfer(dataDir, databaseUrl, ({ name, rows, hash }) =>
        print(`${name.padEnd(20)} ${String(rows).padStart(10)} rows  ${hash.slice(0, PRINTED_DIGITS)}`),
      );
      const total = tables.reduce((sum, { rows }) => sum + rows, 0);
      print(
        `Copied ${total} rows in ${tables.length} tables, and compared each with the original. ` +
          `Start the server with MAYFLY_DATABASE_URL now; ${dataDir} was not changed, and is not used any more.`,
      );
    });
}
