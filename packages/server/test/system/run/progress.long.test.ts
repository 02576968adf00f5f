import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { databasePath } from '../../../src/config/config.ts';
import { openSqlite } from '../../../src/database/sqlite/open.ts';
import { backUp, restore } from '../../../src/operations/backup.ts';
import { findProgram, reportAbsent } from '../../support/find-program.ts';
import { useFolder } from '../../support/folder.ts';

const MAIN = fileURLToPath(new URL('../../../bin/mayfly.js', import.meta.url));
/** Runs a command at a pseudo-terminal of its own. */
const SCRIPT = process.platform === 'linux' ? findProgram('script') : undefined;
if (!SCRIPT) reportAbsent('script, a pseudo-terminal for commands,', 'bsdutils');
/** Nothing listens there. */
const NOWHERE = 'postgres://mayfly:secret@127.0.0.1:1/mayfly';

const dataDir = useFolder();
beforeAll(async () => {
  const store = await openSqlite({ path: databasePath(dataDir()) });
  await store.close();
});

const environment = () => ({ PATH: process.env.PATH, TERM: 'xterm', MAYFLY_DATA_DIR: dataDir() });

/** Locks the database: commands wait for it, as they wait for the end of long work. */
function holdDatabase(): () => void {
  const database = new DatabaseSync(databasePath(dataDir()));
  database.exec('pragma locking_mode = exclusive; begin exclusive');
  const release = () => {
    if (database.isOpen) database.close();
  };
  onTestFinished(release);
  return release;
}

/** A command at a terminal. Both outputs of it are one, as a person sees them. */
function atTerminal(...command: string[]) {
  const words = [process.execPath, MAIN, ...command].map((word) => `'${word}'`).join(' ');
  const child = spawn(SCRIPT ?? '', ['--quiet', '--return', '--command', words, '/dev/null'], {
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text;
  });
  return { shown: () => shown, exitCode: async () => (await closed)[0] };
}

/** What is left on the screen: of each line, what was printed after it was last cleared. */
const onScreen = (shown: string) => shown.split(/\r?\n/).map((line) => line.split('\x1b[2K').at(-1));

describe.skipIf(!SCRIPT)('long commands at a terminal', () => {
  const file = () => join(dataDir(), 'copy.db');
  beforeEach(() => rmSync(file(), { force: true }));

  it.each([
    ['backup', () => ['backup', file()], /Copying the database: 0 of \d+ MiB, \d+ s\r/, 0, 'Backed up to '],
    ['check', () => ['check'], /Checking the database, \d+ s\r/, 0, 'is sound.'],
    [
      'migrate',
      () => ['migrate', '--to', NOWHERE],
      /Checking the database, \d+ s\r/,
      1,
      'Nothing was copied.',
    ],
  ])(
    'mayfly %s shows what it does in one line, which is gone at the end',
    async (_, command, progress, code, end) => {
      const release = holdDatabase();
      const running = atTerminal(...command());
      await expect.poll(running.shown).toMatch(progress);
      release();
      expect(await running.exitCode()).toBe(code);
      const lines = onScreen(running.shown());
      expect(lines.join('\n')).toContain(end);
      expect(lines.join('\n')).not.toMatch(progress.source);
    },
  );
});

describe('long commands', () => {
  it('print nothing of their progress where the output is no terminal', async () => {
    holdDatabase();
    // It waits for the database for 10 s: at a terminal, it would show that all the time.
    const failure = await promisify(execFile)(process.execPath, [MAIN, 'check'], {
      env: environment(),
    }).catch((error) => error);
    expect(failure).toMatchObject({ code: 1, stdout: '', stderr: 'database is locked\n' });
  });

  it('name each step, with the file that grows', async () => {
    const steps: unknown[] = [];
    const path = databasePath(dataDir());
    const onStep = (text: string, growing?: { file: string; bytes: number }) =>
      steps.push(growing ? [text, growing.bytes > 0] : text);
    const file = join(dataDir(), 'backup.db');
    backUp(path, file, onStep);
    await restore(path, file, '.replaced', onStep);
    expect(steps).toEqual([
      ['Copying the database', true],
      'Checking the copy',
      'Checking the backup',
      ['Copying the backup', true],
      'Preparing the database',
    ]);
  });
});
