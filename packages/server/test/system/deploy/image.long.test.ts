/*
 * Runs the commands of deploy/Dockerfile without containers: in temporary folders and as the user of the image, with
 * other paths and ports.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../../support/ports.ts';
import { ROOT } from '../docs/code-blocks.ts';

/** The user id of the image; only root can run programs as another user. */
const USER = 1000;
const isRoot = process.getuid?.() === 0;

describe.skipIf(!isRoot)('the image of deploy/Dockerfile (skipped: needs root)', () => {
  const text = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
  /** Each of the last stages adds a command. */
  const [building = '', running = '', ...started] = text.split(/^FROM .*$/m).slice(1);
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-image-'));
  let env: Record<string, string>;
  /** @returns a command with the folders of this test */
  const here = (command: string) =>
    command
      .replaceAll('/usr/local/bin', join(folder, 'bin'))
      .replaceAll('/app', join(folder, 'app'))
      .replaceAll('/data', join(folder, 'data'))
      .replaceAll('/tmp/fill', join(folder, 'tmp/fill'));
  const commandsOf = (stage: string) =>
    [...stage.matchAll(/^RUN (.+)$/gm)].map(([, line = '']) => here(line));
  const asUser = { uid: USER, gid: USER };

  beforeAll(async () => {
    // Other users cannot enter the temporary folder of a test run.
    for (const path of [tmpdir(), folder]) chmodSync(path, statSync(path).mode | 0o011);
    chmodSync(folder, 0o755);
    for (const name of ['src', 'app', 'bin', 'tmp']) mkdirSync(join(folder, name));
    chownSync(join(folder, 'tmp'), USER, USER);
    copyFileSync(process.execPath, join(folder, 'bin/node'));
    const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: ROOT,
    });
    const copy = 'xargs -0 cp --parents -t "$0"';
    execFileSync('sh', ['-c', copy, join(folder, 'src')], { cwd: ROOT, input: files });
    const npm = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
    for (const command of commandsOf(building)) {
      execFileSync('sh', ['-ec', command], { cwd: join(folder, 'src'), env: npm, stdio: 'pipe' });
    }
    execFileSync('cp', ['-rT', join(folder, 'src/build/mayfly'), join(folder, 'app')]);
    const [prepare = '', fill = ''] = commandsOf(running);
    execFileSync('sh', ['-ec', prepare], { cwd: join(folder, 'app') });
    env = {
      PATH: `${join(folder, 'bin')}:/usr/bin:/bin`,
      MAYFLY_DATA_DIR: join(folder, 'data'),
      MAYFLY_HTTP_PORT: String(await freePort()),
      MAYFLY_SMTP_PORT: String(await freePort()),
    };
    execFileSync('sh', ['-ec', fill], { cwd: join(folder, 'app'), env, stdio: 'pipe', ...asUser });
  }, 600_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  function isHealthy(): boolean {
    const [, script = ''] = /^HEALTHCHECK .* "-e", "(.+)"\]$/m.exec(running) ?? [];
    try {
      execFileSync('node', ['-e', script.replace('8025', env.MAYFLY_HTTP_PORT ?? '')], {
        env,
        stdio: 'pipe',
      });
      return true;
    } catch {
      return false;
    }
  }

  it('has one folder of 12 MB beside Node.js, without its cache, and no libraries', () => {
    const app = join(folder, 'app');
    expect(readdirSync(app, { recursive: true })).not.toContain('node_modules');
    const size = execFileSync('du', ['-sb', '--exclude=.cache', app], { encoding: 'utf8' });
    expect(Number.parseInt(size, 10)).toBeLessThan(12_000_000);
  });

  const commands = started.map((stage): [string, string[]] => {
    const [, list = '[]'] = /^CMD (\[.+\])$/m.exec(stage) ?? [];
    return [list, JSON.parse(list)];
  });

  it.each(commands)(
    'with %s starts as a user without rights, is healthy, writes only its data, and ends on SIGTERM',
    async (_, words) => {
      expect(isHealthy()).toBe(false);
      const [, entry = ''] = /^ENTRYPOINT \["(.+)"\]$/m.exec(running) ?? [];
      const server = spawn(entry, words, { cwd: join(folder, 'app'), env, ...asUser });
      let output = '';
      server.stdout.on('data', (piece) => (output += piece));
      await expect.poll(() => output).toMatch(/Mayfly .*is ready/);
      expect(isHealthy()).toBe(true);
      const written = ['-path', join(folder, 'app/dist/.cache'), '-prune', '-o', '-user', String(USER)];
      const found = execFileSync('find', [join(folder, 'app'), ...written, '-print'], { encoding: 'utf8' });
      expect(found).toBe('');
      const exited = once(server, 'exit');
      server.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
    },
  );
});
