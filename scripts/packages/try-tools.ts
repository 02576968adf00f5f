/* What the parts of `npm run try-packages` share: empty projects, programs, and lines of the report. */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ROOT } from './compile.ts';

/** Everything that is installed; removed at the end. */
export const folder = mkdtempSync(join(tmpdir(), 'mayfly-packages-'));
/** By the name of the folder below build/: the tarball. */
export type Tarballs = Map<string, string>;

export const say = (text: string) => process.stdout.write(`${text}\n`);
export const kb = (bytes: number) => `${(bytes / 1024).toFixed(1)} KB`;
export const bin = (name: string) => join(ROOT, 'node_modules/.bin', name);

/** A port of this machine that is not in use. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** The environment with this Node.js first. */
export const withNode = (node: string, env: Record<string, string> = {}) => ({
  ...process.env,
  PATH: [dirname(node), process.env.PATH].join(delimiter),
  ...env,
});

/** A program that hangs is ended, so that the report says which. */
const RUN_MS = 300_000;

/** Runs a program, shows its output only when it fails. @returns its standard output and the milliseconds it took */
export function run(
  program: string,
  args: string[],
  cwd: string,
  node = process.execPath,
  env: Record<string, string> = {},
) {
  const started = performance.now();
  const output = execFileSync(program, args, {
    cwd,
    encoding: 'utf8',
    env: withNode(node, env),
    timeout: RUN_MS,
  });
  return { output, ms: Math.round(performance.now() - started) };
}

/** An empty project with the tarballs in it. */
export function project(
  name: string,
  packages: string[],
  node = process.execPath,
  env: Record<string, string> = {},
  overrides: Record<string, string> = {},
): { cwd: string; ms: number } {
  const cwd = join(folder, name);
  mkdirSync(cwd);
  const manifest = { name, version: '1.0.0', private: true, overrides };
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(manifest));
  const { ms } = run(
    'npm',
    ['install', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error', ...packages],
    cwd,
    node,
    env,
  );
  return { cwd, ms };
}

/** A first start on a busy machine. */
const START_MS = 30_000;

/** What a running server printed, and how to stop it. */
export interface RunningServer {
  url: string;
  smtpPort: string;
  /** Until it was ready. */
  ms: number;
  stop(): Promise<void>;
}

let server: ReturnType<typeof project> | undefined;
/** A project with the server and `mf`; its installation takes longest, so that it is shared. */
export function serverProject(tarballs: Tarballs): ReturnType<typeof project> {
  server ??= project('server', [tarballs.get('mayfly') ?? '', tarballs.get('client') ?? '']);
  return server;
}

/**
 * `npx mayfly dev` on free ports, in a project that has the package. Clients of this machine need no key.
 * @param npm environment of npx
 */
export async function startServer(cwd: string, npm: Record<string, string> = {}): Promise<RunningServer> {
  const started = performance.now();
  const env = {
    ...npm,
    MAYFLY_HTTP_PORT: '0',
    MAYFLY_SMTP_PORT: '0',
    MAYFLY_METRICS_PORT: '0',
    MAYFLY_DATA_DIR: join(cwd, 'data'),
  };
  const server = spawn('npx', ['mayfly', 'dev'], {
    cwd,
    env: withNode(process.execPath, env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  await new Promise<void>((resolve, reject) => {
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
  return {
    url: /API +(http:\S+)/.exec(printed)?.[1] ?? '',
    smtpPort: /SMTP +\S*?:(\d+)/.exec(printed)?.[1] ?? '',
    ms: Math.round(performance.now() - started),
    stop: () =>
      new Promise((resolve) => {
        // Not `exit`: npx ends before the server that it started.
        server.once('close', () => resolve());
        server.kill('SIGTERM');
      }),
  };
}
