import { execFile } from 'node:child_process';
import { chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram, reportAbsent } from '../../support/find-program.ts';
import { freePort, untilListening } from '../../support/ports.ts';
import { letOthersPass } from '../../support/postgres.ts';

const run = promisify(execFile);

const program = findProgram('postfix');
if (!program) reportAbsent('Postfix', 'postfix');
else if (process.getuid?.() !== 0) process.stderr.write('Skipped: Postfix can be started by root only.\n');

/** Whether a Postfix of its own can be started here. */
export const HAS_POSTFIX = program !== undefined && process.getuid?.() === 0;

/** Starts one with a queue of its own, which takes mail by SMTP and relays it to a port of this machine. */
export async function startPostfix(relayPort: number) {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-postfix-'));
  const port = await freePort();
  for (const name of ['etc', 'queue', 'data']) await mkdir(join(folder, name));
  const { stdout: owner } = await run('id', ['-u', 'postfix']);
  await letOthersPass(tmpdir());
  await letOthersPass(folder);
  await chown(join(folder, 'data'), Number(owner), 0);
  const values = { FOLDER: folder, RELAY_PORT: relayPort, PORT: port, TEMPORARY: tmpdir() };
  for (const name of ['main.cf', 'master.cf']) {
    let text = await readFile(join(import.meta.dirname, 'postfix', name), 'utf8');
    for (const [key, value] of Object.entries(values)) text = text.replaceAll(`@${key}@`, String(value));
    await writeFile(join(folder, 'etc', name), text);
  }
  const postfix = (command: string) => run(program as string, ['-c', join(folder, 'etc'), command]);
  await postfix('start');
  await untilListening(port);
  return {
    port,
    /** Tries to deliver all that is queued, also what it would not try for minutes. */
    flush: () => postfix('flush'),
    log: () => readFile(join(folder, 'log'), 'utf8'),
    async stop() {
      await postfix('stop');
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}
