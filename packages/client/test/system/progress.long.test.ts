import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findProgram, reportAbsent } from '../../../server/test/support/find-program.ts';
import { startApp, TEST_KEY, type TestApp } from '../../../server/test/support/start-app.ts';

const MF = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
/** Runs a command at a pseudo-terminal of its own. */
const SCRIPT = process.platform === 'linux' ? findProgram('script') : undefined;
if (!SCRIPT) reportAbsent('script, a pseudo-terminal for commands,', 'bsdutils');

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.stop());

/** `mf wait` in a process of its own, and what it has printed until now. */
async function waiting(program: string[]) {
  const { id, address } = await app.createInbox();
  const [command = '', ...args] = program;
  const child = spawn(command, args, {
    env: { ...process.env, TERM: 'xterm', MAYFLY_URL: app.url, MAYFLY_API_KEY: TEST_KEY, INBOX_ID: id },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close');
  const printed = { out: '', notes: '' };
  child.stdout.on('data', (text) => {
    printed.out += text;
  });
  child.stderr.on('data', (text) => {
    printed.notes += text;
  });
  const receive = () => app.send({ from: 'a@shop.example', to: address, subject: 'Hi', text: 'x' });
  return { address, printed, receive, exitCode: async () => (await closed)[0] };
}

describe('mf wait', () => {
  it.skipIf(!SCRIPT)('shows the time in one line of the terminal, which is gone at the end', async () => {
    const words = `'${process.execPath}' '${MF}' wait --timeout 100`;
    const { address, printed, receive, exitCode } = await waiting([
      ...[SCRIPT ?? '', '--quiet', '--return', '--command', words, '/dev/null'],
    ]);
    await expect.poll(() => printed.out).toContain(`Waiting for a mail to ${address}: 1 of 100 s\r`);
    await receive();
    expect(await exitCode()).toBe(0);
    // What is printed after the line was removed.
    expect(printed.out.split('\x1b[2K').at(-1)).toMatch(/^msg_\w+\r\n$/);
  });

  it('prints the id alone where the output is no terminal', async () => {
    const { printed, receive, exitCode } = await waiting([process.execPath, MF, 'wait', '--timeout', '100']);
    await receive();
    expect(await exitCode()).toBe(0);
    expect(printed).toEqual({ out: expect.stringMatching(/^msg_\w+\n$/), notes: '' });
  });
});
