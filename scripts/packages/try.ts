/*
 * `npm run try-packages`: builds and packs every package, checks the tarballs with publint and attw, installs each
 * into an empty project, and uses it there: the libraries under Node 20, 22 and 24 as ES module and CommonJS, the
 * server with `npx mayfly dev` and without this repository. Prints sizes and times. Takes about five minutes.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { BUILD, build } from './build.ts';
import { ROOT } from './compile.ts';
import { tryCi } from './try-ci.ts';
import { tryNodes, trySize, tryTypes } from './try-client.ts';
import { tryContainers } from './try-containers.ts';
import { tryCypress } from './try-cypress.ts';
import { tryInProcess } from './try-in-process.ts';
import { tryPython } from './try-python.ts';
import { tryRegistry } from './try-registry.ts';
import { tryRunners } from './try-runners.ts';
import {
  folder,
  kb,
  project,
  run,
  say,
  serverProject,
  startServer,
  type Tarballs,
  withNode,
} from './try-tools.ts';

const TARBALLS = join(BUILD, 'tarballs');
/** Those of tools that are ES modules themselves. */
const ESM_ONLY = ['mcp', 'vitest'];

/** Named in the configuration of Jest, and imported by nobody. */
const UNTYPED = ['--exclude-entrypoints', './jest-environment'];

/** Of the server, without Node.js: a bundle without dependencies. */
const MAX_SERVER_BYTES = 12_000_000;

/** What a registry shows of a package, and what its readers miss where it is not there. */
const SHOWN = ['description', 'keywords', 'license', 'homepage', 'bugs', 'repository', 'engines'];

/** The registry compares it with the repository of the workflow that publishes with provenance, letter by letter. */
const PROVENANCE = /^git\+https:\/\/github\.com\/[\w.-]+\/[\w.-]+\.git$/;

function checkMetadata(source: string, files: Array<{ path: string }>): void {
  const manifest = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8'));
  const paths = files.map(({ path }) => path);
  const { repository, publishConfig } = manifest;
  const root = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).repository.url;
  const isOurs = PROVENANCE.test(repository?.url) && repository.url === root;
  if (!isOurs || !existsSync(join(ROOT, repository.directory)))
    throw new Error(`${manifest.name}: "repository" is not this one: ${JSON.stringify(repository)}`);
  if (manifest.private || publishConfig?.access !== 'public' || publishConfig.provenance !== true)
    throw new Error(`${manifest.name} would not be published for everybody, with provenance.`);
  const programs: string[] = Object.values(manifest.bin ?? {});
  const unknown = programs.filter((file) => !/^#!/.test(readFileSync(join(source, file), 'utf8')));
  if (unknown.length > 0) throw new Error(`${manifest.name}: ${unknown.join(', ')} names no interpreter.`);
  const missing = [
    ...SHOWN.filter((field) => !manifest[field]),
    ...['README.md', 'LICENSE'].filter((file) => !paths.includes(file)),
  ];
  if (missing.length > 0) throw new Error(`${manifest.name} has no ${missing.join(', ')}.`);
  const dead = [...readFileSync(join(source, 'README.md'), 'utf8').matchAll(/blob\/main\/([^)#]+)/g)].filter(
    ([, file = '']) => !existsSync(join(ROOT, file)),
  );
  if (dead.length > 0) throw new Error(`${manifest.name}: README.md links to ${dead.join(', ')}.`);
}

/** Checkers of packages, which nothing else needs. */
const CHECKERS = ['@arethetypeswrong/cli@0.18.5', 'publint@0.3.25'];

function pack(): Tarballs {
  const checkers = join(project('checkers', CHECKERS).cwd, 'node_modules/.bin');
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
    if (basename(source) === 'mayfly' && packed.unpackedSize > MAX_SERVER_BYTES)
      throw new Error(`mayfly has ${kb(packed.unpackedSize)}; the limit is ${kb(MAX_SERVER_BYTES)}.`);
    checkMetadata(source, packed.files);
    run(join(checkers, 'publint'), ['run', '--strict', tarball], ROOT);
    run(
      join(checkers, 'attw'),
      [tarball, '--profile', ESM_ONLY.includes(basename(source)) ? 'esm-only' : 'strict', ...UNTYPED],
      ROOT,
    );
  }
  return tarballs;
}

/** Starts the server from its tarball, receives a mail with the client from its own, and stops it. */
async function tryServer(tarballs: Tarballs): Promise<void> {
  const { cwd, ms } = serverProject(tarballs);
  for (const start of ['first', 'second']) {
    const server = await startServer(cwd);
    say(`mayfly: ${start} start with npx ${server.ms} ms${start === 'first' ? `, install ${ms} ms` : ''}`);
    const user = { MAYFLY_URL: server.url };
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

/** The first message of an agent's host. */
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'try', version: '1' } },
};

/** Starts the MCP server as a host does. @returns ms until it answers */
async function startMcp(cwd: string): Promise<number> {
  const started = performance.now();
  // Nothing listens there: that does not keep the server from starting.
  const env = withNode(process.execPath, { MAYFLY_API_KEY: 'none', MAYFLY_URL: 'http://127.0.0.1:9' });
  const server = spawn('npx', ['mayfly-mcp'], { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] });
  server.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
  const [answer] = await once(server.stdout, 'data');
  if (!/"serverInfo":{"name":"mayfly"/.test(String(answer))) throw new Error(String(answer));
  server.stdin.end();
  await once(server, 'close');
  return Math.round(performance.now() - started);
}

async function tryOthers(tarballs: Tarballs): Promise<void> {
  const others: Record<string, string[]> = { playwright: ['@playwright/test@1.65.1'], mcp: [] };
  for (const [name, peers] of Object.entries(others)) {
    const packages = [tarballs.get('client') ?? '', tarballs.get(name) ?? '', ...peers];
    const { cwd, ms } = project(name, packages);
    const script = `console.log(Object.keys(await import('@mayfly/${name}')).join(' '))`;
    const main = run(process.execPath, ['--input-type=module', '-e', script], cwd);
    const mcp = name === 'mcp' ? `, answers an agent after ${await startMcp(cwd)} ms` : '';
    say(
      `@mayfly/${name}: install ${ms} ms${peers.map((peer) => ` with ${peer}`)}, start ${main.ms} ms, exports ${main.output.trim()}${mcp}`,
    );
  }
}

/** By the name that selects one: `npm run try-packages -- server`. Without names all are tried. */
const PARTS: Record<string, (tarballs: Tarballs) => void | Promise<void>> = {
  size: trySize,
  server: tryServer,
  'in-process': tryInProcess,
  client: tryNodes,
  types: (tarballs) => tryTypes(tarballs.get('client')),
  others: tryOthers,
  runners: tryRunners,
  cypress: tryCypress,
  python: tryPython,
  registry: tryRegistry,
  ci: tryCi,
  containers: tryContainers,
};

const names = process.argv.slice(2);
const unknown = names.find((name) => !PARTS[name]);
if (unknown) throw new Error(`"${unknown}" is not a part. Parts: ${Object.keys(PARTS).join(', ')}.`);
const packages = await build();
try {
  const tarballs = pack();
  for (const [name, part] of Object.entries(PARTS)) {
    if (names.length === 0 || names.includes(name)) await part(tarballs);
  }
  say(`${names.length === 0 ? 'All packages work' : 'These parts work'} from their tarballs.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
