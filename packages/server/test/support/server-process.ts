import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { apiClient } from './api-client.ts';

const MAIN = fileURLToPath(new URL('../../bin/mayfly.js', import.meta.url));
const SOURCES = fileURLToPath(new URL('../../bin/sources.js', import.meta.url));
const KEY = 'durability_key_0123456789';

export interface Inbox {
  id: string;
  address: string;
  token: string;
  cursor: string;
}

/** A process of `mayfly serve` or `mayfly dev` on free ports. */
export type ServerProcess = Awaited<ReturnType<typeof startServer>>;

export interface ServerOptions {
  /** Default `serve`. */
  command?: 'serve' | 'dev';
  dataDir: string;
  /** A program with arguments that starts it, such as strace. */
  under?: string[];
  /** Runs the sources instead of the bundle, for tests that change modules. */
  fromSources?: boolean;
  /** A module to run instead of the bundle. */
  entry?: string;
  /** Arguments for Node.js. */
  nodeArgs?: string[];
  /** Additional settings. */
  env?: Record<string, string>;
  /** A file descriptor for standard output. Default: a pipe. */
  stdout?: number;
}

/** Spawns the process without waiting until it is ready. */
export function spawnServer(options: ServerOptions): ChildProcess {
  const { command = 'serve', dataDir, under = [], nodeArgs = [], env = {} } = options;
  const { entry = options.fromSources ? SOURCES : MAIN } = options;
  const [program = '', ...args] = [...under, process.execPath, ...nodeArgs, entry, command];
  return spawn(program, args, {
    // Not the environment of the test: the server warns of unknown settings.
    env: {
      PATH: process.env.PATH,
      MAYFLY_HTTP_PORT: '0',
      MAYFLY_SMTP_PORT: '0',
      MAYFLY_DATA_DIR: dataDir,
      MAYFLY_API_KEY: KEY,
      MAYFLY_LOG_LEVEL: 'error',
      ...env,
    },
    stdio: ['ignore', options.stdout ?? 'pipe', 'pipe'],
  });
}

/** Starts a server and waits until it is ready. @throws Error with its output if it exits before */
export async function startServer(options: ServerOptions) {
  const child = spawnServer(options);
  const [url, port, greeting] = await untilGreeting(child);
  const api = apiClient(url, KEY);
  return {
    url,
    /** The account's key. */
    key: KEY,
    smtpPort: Number(port),
    /** Standard output until the server was ready. */
    greeting,
    process: child,
    /** Uses the account's key; rejects when the process has ended. */
    api,
    async createInbox(): Promise<Inbox> {
      const { status, body } = await api('POST', '/v1/inboxes', { body: { ttlMinutes: 600 } });
      if (status !== 201) throw new Error(`no inbox: ${status} ${JSON.stringify(body)}`);
      return body;
    },
    /** Sends a signal and waits for the exit. @returns the exit code, null if the signal ended the process, and the duration */
    async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<{ code: number | null; ms: number }> {
      const begun = performance.now();
      const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
      child.kill(signal);
      await exited;
      return { code: child.exitCode, ms: performance.now() - begun };
    },
  };
}

/** @returns the addresses in the log line of `serve` or the text of `dev`; undefined if it is not complete */
function addressesIn(output: string): { url: string; port: string } | undefined {
  const line = output.split('\n').find((one) => one.startsWith('{') && one.includes('"Mayfly is ready"}'));
  if (line !== undefined) {
    const { http, smtp } = JSON.parse(line);
    return { url: http.url, port: String(smtp.port) };
  }
  const [, url, port] = /API +(http\S+)[\s\S]*SMTP +\S+:(\d+) [\s\S]*npx mayfly mail .*\n/.exec(output) ?? [];
  return url && port ? { url, port } : undefined;
}

function untilGreeting(child: ChildProcess): Promise<[url: string, port: string, greeting: string]> {
  return new Promise((resolve, reject) => {
    let output = '';
    let errors = '';
    child.stderr?.on('data', (piece) => {
      errors += piece;
    });
    const read = (piece: Buffer): void => {
      output += piece;
      const found = addressesIn(output);
      if (!found) return;
      child.stdout?.off('data', read).resume();
      resolve([found.url, found.port, output]);
    };
    child.stdout?.on('data', read);
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(new Error(`the server ended (${code ?? signal}): ${output}${errors}`)),
    );
  });
}
