import { join } from 'node:path';
import { type Child, startChild } from './child.ts';
import { makeFolder, removeFolder } from './folder.ts';

export const MAYFLY = new URL('../../packages/server/bin/mayfly.js', import.meta.url);
const KEY = 'bench_key_0123456789abcdef';

export interface Inbox {
  id: string;
  address: string;
  token: string;
  cursor: string;
}

/** The server as `mayfly serve` starts it, in a data folder of its own. */
export interface Mayfly extends Child {
  url: string;
  smtpPort: number;
  dataDir: string;
  /** The account's API key. */
  key: string;
  /** @param fields of the request's body */
  createInbox(fields?: object): Promise<Inbox>;
  /** How many messages the inbox holds. */
  countMessages(inbox: Inbox): Promise<number>;
  /** The JSON answer of a GET. @throws Error for any status but 200 */
  get<T>(path: string): Promise<T>;
}

export interface MayflyOptions {
  /** A program to start it with, and its arguments. */
  under?: string[];
  /** Added to its environment. */
  env?: Record<string, string>;
  /** A folder to start on again; then it is the caller's to remove. */
  dataDir?: string;
}

/** Starts it on free ports; `stop` removes its data. */
export async function startMayfly({ under = [], dataDir, env = {} }: MayflyOptions = {}): Promise<Mayfly> {
  const folder = dataDir ?? makeFolder();
  const remove = () => {
    if (dataDir === undefined) removeFolder(folder);
  };
  let child: Child;
  try {
    child = await startChild({
      file: MAYFLY,
      executable: true,
      args: ['serve'],
      under,
      env: {
        MAYFLY_HTTP_PORT: '0',
        MAYFLY_SMTP_PORT: '0',
        MAYFLY_DATA_DIR: folder,
        MAYFLY_API_KEY: KEY,
        MAYFLY_LOG_LEVEL: 'warn',
        MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8',
        ...env,
      },
      ready: /"http":\{"url":"([^"]+)"[^}]*\},"smtp":\{"host":"[^"]+","port":(\d+).*"Mayfly is ready"/,
    });
  } catch (error) {
    remove();
    throw error;
  }
  const [url = '', smtpPort = ''] = child.ready;

  const request = async <T>(method: string, path: string, body?: object): Promise<T> => {
    const response = await fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${KEY}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  };

  return {
    ...child,
    url,
    smtpPort: Number(smtpPort),
    dataDir: folder,
    key: KEY,
    createInbox: (fields = {}) => request<Inbox>('POST', '/v1/inboxes', fields),
    async countMessages({ id }) {
      return (await request<{ messageCount: number }>('GET', `/v1/inboxes/${id}`)).messageCount;
    },
    get: (path) => request('GET', path),
    async stop() {
      await child.stop();
      remove();
    },
  };
}

/** Runs `use` with a server and ends it, whatever happens. */
export async function withMayfly<T>(options: MayflyOptions, use: (mayfly: Mayfly) => Promise<T>): Promise<T> {
  const mayfly = await startMayfly(options);
  try {
    return await use(mayfly);
  } finally {
    await mayfly.stop();
  }
}

/** @throws Error when an inbox does not hold exactly the mails that were acknowledged */
export async function assertAllThere(mayfly: Mayfly, inbox: Inbox, mails: number): Promise<void> {
  const there = await mayfly.countMessages(inbox);
  if (there !== mails) throw new Error(`${mails} mails were acknowledged and ${there} are there`);
}

/** Starts a server with few messages and one with many, and ends both. @param fill gets an empty folder for data */
export async function withFilled<Size, Server extends { mayfly: Mayfly }, Result>(
  sizes: { small: Size; large: Size },
  fill: (dataDir: string, size: Size) => Promise<Server>,
  measure: (large: Server, small: Server, folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = makeFolder();
  const all: Server[] = [];
  try {
    const small = await fill(join(folder, 'small'), sizes.small);
    all.push(small);
    const large = await fill(join(folder, 'large'), sizes.large);
    all.push(large);
    return await measure(large, small, folder);
  } finally {
    for (const { mayfly } of all) await mayfly.stop();
    removeFolder(folder);
  }
}
