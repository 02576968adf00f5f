import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../bin/mayfly.js', import.meta.url));
const SOURCES = fileURLToPath(new URL('../../bin/sources.js', import.meta.url));
const KEY = 'durability_key_0123456789';

export interface Inbox {
  id: string;
  address: string;
  token: string;
  cursor: string;
}

/** `mayfly serve`, or another command that serves, in a process of its own, on free ports. */
export interface ServerProcess {
  url: string;
  /** The account's key. */
  key: string;
  smtpPort: number;
  /** Its standard output until it was ready. */
  greeting: string;
  process: ChildProcess;
  /** Any request, with the account's key. */
  request(method: string, path: string, body?: object): Promise<Response>;
  createInbox(): Promise<Inbox>;
  /** @throws Error for any status but 200, and when the server is gone */
  getJson<T>(path: string): Promise<T>;
  /** @throws Error for any status but 200, and when the server is gone */
  getBytes(path: string): Promise<Buffer>;
  /** Ends it with a signal. @returns its exit code, null when the signal ended it, and how long that took */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<{ code: number | null; ms: number }>;
}

export interface ServerOptions {
  /** Default `serve`. */
  command?: 'serve' | 'dev';
  /** Arguments of the command. */
  commandArgs?: string[];
  dataDir: string;
  /** A program that starts it, with its arguments. */
  under?: string[];
  /** Runs the sources instead of their bundle, for tests that change modules. */
  fromSources?: boolean;
  /** A program that starts the server, instead of the bundle. */
  entry?: string;
  /** Arguments for Node.js. */
  nodeArgs?: string[];
  /** Settings beside those that every server has here. */
  env?: Record<string, string>;
}

/** Only spawns it, and does not wait until it is ready. */
export function spawnServer(options: ServerOptions): ChildProcess {
  const { command = 'serve', commandArgs = [], dataDir, under = [], nodeArgs = [], env = {} } = options;
  const { entry = options.fromSources ? SOURCES : MAIN } = options;
  const [program = '', ...args] = [...under, process.execPath, ...nodeArgs, entry, command, ...commandArgs];
  return spawn(program, args, {
    // Nothing else of ours: the server refuses settings that it does not know.
    env: {
      PATH: process.env.PATH,
      MAYFLY_HTTP_PORT: '0',
      MAYFLY_SMTP_PORT: '0',
      MAYFLY_DATA_DIR: dataDir,
      MAYFLY_API_KEY: KEY,
      MAYFLY_LOG_LEVEL: 'error',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Starts it and resolves when it has told its addresses. @throws Error with all it said when it ends instead */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const child = spawnServer(options);
  const [url, port, greeting] = await untilGreeting(child);
  const request: ServerProcess['request'] = (method, path, body) =>
    fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${KEY}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const get = async (path: string): Promise<Response> => {
    const response = await request('GET', path);
    if (response.status !== 200) throw new Error(`GET ${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  return {
    url,
    key: KEY,
    smtpPort: Number(port),
    greeting,
    process: child,
    request,
    async createInbox() {
      const response = await request('POST', '/v1/inboxes', { ttlMinutes: 600 });
      if (response.status !== 201) throw new Error(`no inbox: ${response.status} ${await response.text()}`);
      return (await response.json()) as Inbox;
    },
    getJson: async <T>(path: string) => (await (await get(path)).json()) as T,
    getBytes: async (path) => Buffer.from(await (await get(path)).arrayBuffer()),
    async end(signal) {
      const begun = performance.now();
      const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
      child.kill(signal);
      await exited;
      return { code: child.exitCode, ms: performance.now() - begun };
    },
  };
}

/** The log line of `serve`, or the text of `dev`. */
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
