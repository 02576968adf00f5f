import type { Command } from 'commander';
import { parseConfig } from '../config/config.ts';

/** What the commands need of the process and the store. */
export interface BackupEdge {
  /** The environment, which is the configuration. */
  env: Record<string, string | undefined>;
  print(text: string): void;
  /** Epoch milliseconds. */
  now(): number;
  /** @returns bytes of the copy @throws Error when it cannot be made */
  backUp(dataDir: string, file: string): number;
  /** @returns the path of the replaced database, null when there was none @throws Error when nothing was changed */
  restore(dataDir: string, file: string, suffix: string): Promise<string | null>;
}

const MIB = 1024 * 1024;

/** @throws Error where the database is PostgreSQL */
function embeddedFolder(env: BackupEdge['env']): string {
  const { dataDir, databaseUrl } = parseConfig(env);
  if (databaseUrl === null) return dataDir;
  throw new Error(
    'MAYFLY_DATABASE_URL is set: this command is for the embedded database. Use the tools of PostgreSQL, such as pg_basebackup or pg_dump.',
  );
}

/** Adds `backup` and `restore`, for the embedded database in `MAYFLY_DATA_DIR`. */
export function addBackupCommands(program: Command, { env, print, now, backUp, restore }: BackupEdge): void {
  program
    .command('backup')
    .description('Copy the embedded database to a file, also while the server runs')
    .argument('<file>', 'Path of the file to create')
    .action((file: string) => {
      const bytes = backUp(embeddedFolder(env), file);
      print(`Backed up to ${file} (${(bytes / MIB).toFixed(1)} MiB).`);
    });
  program
    .command('restore')
    .description('Replace the embedded database by a backup; stop the server first')
    .argument('<file>', 'A file made by "mayfly backup"')
    .action(async (file: string) => {
      const dataDir = embeddedFolder(env);
      const suffix = `.replaced-${new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
      const replaced = await restore(dataDir, file, suffix);
      print(
        `Restored ${file} to ${dataDir}.${replaced ? ` The database before is kept as ${replaced}.` : ''}`,
      );
    });
}
