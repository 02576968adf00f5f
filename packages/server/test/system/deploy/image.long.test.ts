/*
 * Runs the commands of deploy/Dockerfile without containers: in temporary folders and as the user of the image, with
 * other paths and ports.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { useFolder } from '../../support/folder.ts';
import { freePort } from '../../support/ports.ts';
import { letOthersPass } from '../../support/postgres.ts';
import { ROOT } from '../docs/code-blocks.ts';

/** The user id of the image; only root can run programs as another user. */
const USER = 1000;
const isRoot = process.getuid?.() === 0;

describe.skipIf(!isRoot)('the image of deploy/Dockerfile (skipped: needs root)', () => {
  const text = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
  /** Each of the last stages adds a command. */
  const [building = '', running = '', ...started] = text.split(/^FROM .*$/m).slice(1);
  const folder = useFolder();
  const at = (name: string) => join(folder(), name);
  let env: Record<string, string>;
  /** @returns the commands of a stage, with the folders of this test */
  const commandsOf = (stage: string) =>
    [...stage.matchAll(/^RUN (.+)$/gm)].map(([, command = '']) =>
      command
        .replaceAll('/usr/local/bin', at('bin'))
        .replaceAll('/app', at('app'))
        .replaceAll('/data', at('data'))
        .replaceAll('/tmp/fill', at('tmp/fill')),
    );
  const shell = (cwd: string, command: string, options = {}) =>
    execFileSync('sh', ['-ec', command], { cwd, stdio: 'pipe', ...options });
  const asUser = { uid: USER, gid: USER };

  beforeAll(async () => {
    // Other users cannot enter the temporary folder of a test run.
    await letOthersPass(tmpdir());
    chmodSync(folder(), 0o755);
    for (const name of ['src', 'app', 'bin', 'tmp']) mkdirSync(at(name));
    chownSync(at('tmp'), USER, USER);
    copyFileSync(process.execPath, at('bin/node'));
    const files = 'git ls-files -z --cached --others --exclude-standard';
    shell(ROOT, `${files} | xargs -0 cp --parents -t ${at('src')}`);
    const npm = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` };
    for (const command of commandsOf(building)) shell(at('src'), command, { env: npm });
    shell(folder(), 'cp -rT src/build/mayfly app');
    const [prepare = '', fill = ''] = commandsOf(running);
    shell(at('app'), prepare);
    env = {
      PATH: `${at('bin')}:/usr/bin:/bin`,
      MAYFLY_DATA_DIR: at('data'),
      MAYFLY_HTTP_PORT: String(await freePort()),
      MAYFLY_SMTP_PORT: String(await freePort()),
    };
    shell(at('app'), fill, { env, ...asUser });
  }, 600_000);

  function isHealthy(): boolean {
    const [, script = ''] = /^HEALTHCHECK .* "-e", "(.+)"\]$/m.exec(running) ?? [];
    const args = ['-e', script.replace('8025', env.MAYFLY_HTTP_PORT ?? '')];
    return spawnSync('node', args, { env }).status === 0;
  }

  it('has one folder of 12 MB beside Node.js, without its cache, and no libraries', () => {
    expect(readdirSync(at('app'), { recursive: true })).not.toContain('node_modules');
    const size = shell(at('app'), 'du -sb --exclude=.cache').toString();
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
      const server = spawn(entry, words, { cwd: at('app'), env, ...asUser });
      let output = '';
      server.stdout.on('data', (piece) => (output += piece));
      await expect.poll(() => output).toMatch(/Mayfly .*is ready/);
      expect(isHealthy()).toBe(true);
      const written = shell(at('app'), `find . -path ./dist/.cache -prune -o -user ${USER} -print`);
      expect(written.toString()).toBe('');
      const exited = once(server, 'exit');
      server.kill('SIGTERM');
      expect(await exited).toEqual([0, null]);
    },
  );
});
