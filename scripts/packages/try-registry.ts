/*
 * The release, rehearsed: all packages are published to registries on loopback, Verdaccio (npm) and pypiserver (PyPI),
 * and installed from there in empty projects, as a user does. Packages of others come from the registries that npm and
 * pip of this machine use.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUILD } from './build.ts';
import { buildWheel, environment, toolsPython } from './try-python.ts';
import { folder, freePort, project, run, say, startServer, type Tarballs, withNode } from './try-tools.ts';

const VERDACCIO = '6.10.4';
/** It asks for the tag "cjs" of this library, which mirrors of the registry do not have. */
const VERDACCIO_FETCH = '2.7.0';
/** A first start on a busy machine. */
const START_MS = 60_000;

const TESTS = {
  'mail.spec.ts': '@mayfly/playwright',
  'mail.test.ts': '@mayfly/vitest',
};
const test = (from: string) => `
import { expect, test } from '${from}';
test('receives a code', async ({ inbox }) => {
  await inbox.inject('Subject: Code\\r\\n\\r\\nYour code is 482913.');
  expect(await inbox.waitForCode()).toBe('482913');
});
`;
const PYTHON_TEST = `
def test_code(mail_inbox):
    mail_inbox.inject(b"Subject: Code\\r\\n\\r\\nYour code is 482913.")
    assert mail_inbox.wait_for_code() == "482913"
`;

/** Starts a program that serves HTTP. @returns how to stop it, when it answers */
async function serve(program: string, args: string[], url: string): Promise<() => Promise<void>> {
  const server = spawn(program, args, {
    cwd: folder,
    env: withNode(process.execPath),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = new Promise<void>((resolve) => server.once('close', () => resolve()));
  let printed = '';
  for (const output of [server.stdout, server.stderr]) output.on('data', (text) => (printed += text));
  const stop = async () => {
    server.kill('SIGTERM');
    await closed;
  };
  for (const end = Date.now() + START_MS; ; ) {
    const isUp = await fetch(url).then(
      (response) => response.ok,
      () => false,
    );
    if (isUp) return stop;
    if (Date.now() > end || server.exitCode !== null) {
      await stop();
      throw new Error(`${program} does not answer at ${url}: ${printed}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** @returns its URL, and the environment of npm that knows no other registry, with a cache and settings of its own */
async function startVerdaccio() {
  const { cwd, ms } = project(
    'verdaccio',
    [`verdaccio@${VERDACCIO}`],
    process.execPath,
    {},
    { 'node-fetch': VERDACCIO_FETCH },
  );
  say(`verdaccio: install ${ms} ms`);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const config = {
    storage: join(cwd, 'storage'),
    auth: { htpasswd: { file: join(cwd, 'htpasswd') } },
    packages: { '**': { access: '$all', publish: '$authenticated' } },
    max_body_size: '50mb',
    web: { enable: false },
    log: { type: 'stdout', format: 'pretty', level: 'warn' },
  };
  // JSON is YAML.
  writeFileSync(join(cwd, 'config.yaml'), JSON.stringify(config));
  const program = join(cwd, 'node_modules/.bin/verdaccio');
  const stop = await serve(
    program,
    ['--config', join(cwd, 'config.yaml'), '--listen', String(port)],
    `${url}-/ping`,
  );
  const user = { name: 'rehearsal', password: 'rehearsal-of-a-release' };
  const answer = await fetch(`${url}-/user/org.couchdb.user:${user.name}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(user),
  });
  const { token } = (await answer.json()) as { token: string };
  writeFileSync(join(cwd, 'npmrc'), `registry=${url}\n//127.0.0.1:${port}/:_authToken=${token}\n`);
  // npx keeps what it installed by name in the cache.
  const env = {
    npm_config_userconfig: join(cwd, 'npmrc'),
    npm_config_registry: url,
    npm_config_cache: join(folder, 'npm-cache'),
  };
  return { url, env, stop };
}

async function tryNpm(tarballs: Tarballs, wheel: string): Promise<void> {
  const { url, env, stop } = await startVerdaccio();
  try {
    // Provenance needs the identity of a workflow.
    for (const tarball of tarballs.values())
      run(
        'npm',
        ['publish', tarball, '--provenance=false', '--loglevel=error'],
        folder,
        process.execPath,
        env,
      );
    say(`verdaccio: took ${tarballs.size} packages`);
    const empty = join(folder, 'registry-server');
    mkdirSync(empty);
    const server = await startServer(empty, { ...env, npm_config_yes: 'true' });
    try {
      say(`npx mayfly dev in an empty folder: ready after ${server.ms} ms`);
      const user = { MAYFLY_URL: server.url, CI: '1', NO_COLOR: '1' };
      const wanted = ['-D', ...Object.values(TESTS), '@playwright/test@1.65.1', 'vitest@5.1.0'];
      const scope = { 'npm_config_@mayfly:registry': url };
      const { cwd, ms } = project('registry-tests', wanted, process.execPath, scope);
      for (const [file, from] of Object.entries(TESTS)) writeFileSync(join(cwd, file), test(from));
      const printed = [
        run('npx', ['playwright', 'test', 'mail.spec.ts'], cwd, process.execPath, user).output,
        run('npx', ['vitest', 'run', 'mail.test.ts'], cwd, process.execPath, user).output,
      ];
      for (const text of printed) if (!/1 passed/.test(text)) throw new Error(text);
      say(
        `${Object.values(TESTS).join(' and ')}: installed from the registry in ${ms} ms, a test of each passes`,
      );
      await tryPip(wheel, user);
    } finally {
      await server.stop();
    }
  } finally {
    await stop();
  }
}

/** @param env leads to a running server */
async function tryPip(wheel: string, env: Record<string, string>): Promise<void> {
  const python = toolsPython();
  const files = readdirSync(wheel).map((file) => join(wheel, file));
  run(python, ['-m', 'twine', 'check', '--strict', ...files], folder);
  const packages = join(folder, 'pypi');
  mkdirSync(packages);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const upstream = process.env.PIP_INDEX_URL;
  const fallback = upstream ? ['--fallback-url', upstream] : [];
  const args = [
    '-m',
    'pypiserver',
    'run',
    '--interface',
    '127.0.0.1',
    '--port',
    String(port),
    '-P',
    '.',
    '-a',
    '.',
    ...fallback,
  ];
  const stop = await serve(python, [...args, packages], url);
  try {
    run(
      python,
      ['-m', 'twine', 'upload', '--repository-url', url, '-u', 'rehearsal', '-p', 'rehearsal', ...files],
      folder,
    );
    const user = environment('registry-python', ['pytest-mayfly'], { PIP_INDEX_URL: `${url}simple/` });
    const cwd = join(folder, 'registry-pytest');
    mkdirSync(cwd);
    writeFileSync(join(cwd, 'test_code.py'), PYTHON_TEST);
    const { output } = run(user.python, ['-m', 'pytest', '-q'], cwd, process.execPath, env);
    if (!/1 passed/.test(output)) throw new Error(output);
    say(
      `pytest-mayfly: pypiserver took ${files.length} files; pip install pytest-mayfly ${user.ms} ms, a test passes`,
    );
  } finally {
    await stop();
  }
}

export async function tryRegistry(tarballs: Tarballs): Promise<void> {
  const wheel = join(BUILD, 'python');
  buildWheel(wheel);
  await tryNpm(tarballs, wheel);
}
