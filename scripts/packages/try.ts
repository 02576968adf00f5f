/*
 * `npm run try-packages`: builds and packs every package, checks the tarballs with publint and attw, installs each
 * into an empty project, and uses it there: the libraries under Node 20, 22 and 24 as ES module and CommonJS, the
 * server with `npx mayfly dev` and without this repository. Prints sizes and times. Takes two to three minutes.
 */
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { BUILD, build } from './build.ts';
import { ROOT } from './compile.ts';
import { tryCi } from './try-ci.ts';
import { tryNodes, trySize, tryTypes } from './try-client.ts';
import { tryContainers } from './try-containers.ts';
import { tryCypress } from './try-cypress.ts';
import { tryPython } from './try-python.ts';
import {
  bin,
  folder,
  kb,
  project,
  run,
  say,
  serverProject,
  startServer,
  type Tarballs,
} from './try-tools.ts';

const TARBALLS = join(BUILD, 'tarballs');
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

/** Starts the server from its tarball, receives a mail with the client from its own, and stops it. */
async function tryServer(tarballs: Tarballs): Promise<void> {
  const { cwd, ms } = serverProject(tarballs);
  const key = 'try_key_0123456789abcdef';
  for (const start of ['first', 'second']) {
    const server = await startServer(cwd, key);
    say(`mayfly: ${start} start with npx ${server.ms} ms${start === 'first' ? `, install ${ms} ms` : ''}`);
    const user = { MAYFLY_URL: server.url, MAYFLY_API_KEY: key };
    const npx = (args: string[]) => run('npx', args, cwd, process.execPath, user).output.trim();
    const address = npx(['mf', 'new']);
    const mail = ['mayfly', 'mail', address, '--subject', 'Code', '--body', 'Your code is 482913.'];
    npx([...mail, '--server', `127.0.0.1:${server.smtpPort}`]);
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
  size: trySize,
  server: tryServer,
  client: tryNodes,
  types: (tarballs) => tryTypes(tarballs.get('client')),
  others: tryOthers,
  cypress: tryCypress,
  python: tryPython,
  ci: tryCi,
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
