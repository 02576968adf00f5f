import type { Command } from 'commander';
import { databasePath, parseConfig } from '../config/config.ts';
import type { Edge } from './arguments.ts';

function embeddedFolder(env: Edge['env']): string {
  const { dataDir, databaseUrl } = parseConfig(env);
  if (databaseUrl === null) return dataDir;
  throw new Error(
    'MAYFLY_DATABASE_URL is set: this command is for the embedded database. Use the tools of PostgreSQL, such as pg_basebackup or pg_dump.',
  );
}

const WAY_OUT =
  'What is not named here can be read, but a row that was overwritten in part may be altered. Export what you need (GET /v1/inboxes/{id}/export), stop the server, and replace the database by a backup with "mayfly restore".';

type BackupEdge = Omit<Edge, 'openStore' | 'readLine'>;

async function migrate({ env, print, onStep }: BackupEdge, { from, to }: { from?: string; to?: string }) {
  const { dataDir, databaseUrl } = parseConfig({
    ...env,
    ...(from !== undefined && { MAYFLY_DATA_DIR: from }),
    ...(to !== undefined && { MAYFLY_DATABASE_URL: to, MAYFLY_DATABASE_URL_FILE: undefined }),
  });
  if (databaseUrl === null)
    throw new Error(
      'There is no PostgreSQL database to copy to. Give its URL with --to or in MAYFLY_DATABASE_URL.',
    );
  const { transfer } = await import('../operations/transfer.ts');
  const tables = await transfer(
    databasePath(dataDir),
    databaseUrl,
    ({ name, rows, hash }) =>
      print(`${name.padEnd(20)} ${String(rows).padStart(10)} rows  ${hash.slice(0, 16)}`),
    onStep,
  );
  const total = tables.reduce((sum, { rows }) => sum + rows, 0);
  print(
    `Copied ${total} rows in ${tables.length} tables, and compared each with the original. ` +
      `Start the server with MAYFLY_DATABASE_URL now; ${dataDir} was not changed, and is not used any more.`,
  );
}

export function addBackupCommands(program: Command, edge: BackupEdge): void {
  const { env, print, now, onStep } = edge;
  program
    .command('backup')
    .description('Copy the embedded database to a file, also while the server runs')
    .argument('<file>', 'Path of the file to create')
    .action(async (file: string) => {
      const { backUp } = await import('../operations/backup.ts');
      print(`Backed up to ${file} (${backUp(databasePath(embeddedFolder(env)), file, onStep)}).`);
    });
  program
    .command('restore')
    .description('Replace the embedded database by a backup; stop the server first')
    .argument('<file>', 'A file made by "mayfly backup"')
    .action(async (file: string) => {
      const dataDir = embeddedFolder(env);
      const suffix = `.replaced-${new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
      const { restore } = await import('../operations/backup.ts');
      const replaced = await restore(databasePath(dataDir), file, suffix, onStep);
      print(
        `Restored ${file} to ${dataDir}.${replaced ? ` The database before is kept as ${replaced}.` : ''}`,
      );
    });
  program
    .command('check')
    .description('Look for damage in the embedded database, also while the server runs')
    .action(async () => {
      const dataDir = embeddedFolder(env);
      const { check } = await import('../database/sqlite/check.ts');
      onStep('Checking the database');
      const damage = check(databasePath(dataDir));
      if (damage === null) return print(`The database in ${dataDir} is sound.`);
      print(damage);
      throw new Error(`The database in ${dataDir} is damaged. ${WAY_OUT}`);
    });
  program
    .command('migrate')
    .description('Copy the embedded database to an empty PostgreSQL database; stop the server first')
    .option('--from <folder>', 'Data folder of the embedded database (default: MAYFLY_DATA_DIR)')
    .option(
      '--to <url>',
      'URL of the PostgreSQL database (default: MAYFLY_DATABASE_URL, which other users of the machine cannot see)',
    )
    .action((options: { from?: string; to?: string }) => migrate(edge, options));
}
