import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from './app.ts';
import { parseConfig, unusedVariables } from './config/config.ts';
import { DEV_DEFAULTS } from './config/settings.ts';
import { Parsing } from './reading/parsing.ts';

export interface StartOptions {
  /**
   * Settings by the names of their environment variables (docs/configuration.md), for example
   * `{ MAYFLY_DIALECT: 'mailpit', MAYFLY_SMTP_PORT: '1025' }`. The environment itself is not read.
   */
  settings?: Readonly<Record<string, string>>;
}

export interface RunningMayfly {
  url: string;
  smtp: { host: string; port: number };
  /** Null without `MAYFLY_POP3_PORT`. */
  pop3: { host: string; port: number } | null;
  /** API key of the only account: `new Mayfly({ url, apiKey })`. */
  apiKey: string;
  /** Ends the server and removes its data. May be called twice. */
  stop(): Promise<void>;
}

/** Any free ports (0) and no terminal output. The API of Mailpit is off, unlike in `mayfly dev`. */
const DEFAULTS = {
  ...DEV_DEFAULTS,
  MAYFLY_HTTP_PORT: '0',
  MAYFLY_SMTP_PORT: '0',
  MAYFLY_METRICS_PORT: '',
  MAYFLY_DIALECT: 'off',
  MAYFLY_LOG_LEVEL: 'silent',
};

/** Parse workers that all servers of this process share, and the number of these servers. */
let parsing: Parsing | undefined;
let servers = 0;

async function releaseParsing(): Promise<void> {
  servers -= 1;
  if (servers > 0) return;
  const unused = parsing;
  parsing = undefined;
  await unused?.close();
}

/**
 * Starts a server within this process, for tests. Its data is in a temporary folder and is never synced to the disk.
 * The process does not end before `stop`.
 * @throws Error that says which setting is wrong or which port is in use
 */
export async function startMayfly({ settings = {} }: StartOptions = {}): Promise<RunningMayfly> {
  const [unused] = unusedVariables(settings);
  if (unused !== undefined) throw new Error(unused);
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-'));
  servers += 1;
  parsing ??= new Parsing();
  const end = async (): Promise<void> => {
    await releaseParsing();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const config = parseConfig({ ...settings, MAYFLY_DATA_DIR: folder }, DEFAULTS);
    const app = createApp(config, { parsing, isDurable: false });
    let apiKey = config.apiKey ?? '';
    const { http, smtp, pop3 } = await app.start((key) => {
      apiKey = key;
    });
    if (!http || !smtp) {
      await app.stop();
      throw new Error('MAYFLY_ROLES must have http and smtp here.');
    }
    let stopped: Promise<void> | undefined;
    return {
      url: http.url,
      smtp: { host: smtp.host, port: smtp.port },
      pop3,
      apiKey,
      stop() {
        stopped ??= app.stop().finally(end);
        return stopped;
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}
