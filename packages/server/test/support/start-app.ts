import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import type Mail from 'nodemailer/lib/mailer/index.js';
import type { Overrides } from '../../src/app.ts';
import { createApp } from '../../src/app.ts';
import { databasePath, parseConfig } from '../../src/config/config.ts';
import { openPostgres } from '../../src/database/postgres/open.ts';
import { openSqlite } from '../../src/database/sqlite/open.ts';
import { newDatabase } from '../store/postgres/open-postgres.ts';
import { apiClient, type Body } from './api-client.ts';
import { hasPostgres } from './postgres.ts';
import { sharedParsing } from './shared-parsing.ts';
import { ofTest, startedOnce } from './started.ts';

/** Whether apps that name no database are on PostgreSQL: the project `on PostgreSQL` of `vitest run --mode all`. */
export const ON_POSTGRES = process.env.TEST_ENGINE === 'PostgreSQL';
if (ON_POSTGRES && !(await hasPostgres())) throw new Error('There is no PostgreSQL on this machine.');

/** The key of the first account in every test app. */
export const TEST_KEY = 'test_key_0123456789abcdef';

export type TestApp = Awaited<ReturnType<typeof startApp>>;

/** An inbox as its creation shows it. */
interface CreatedInbox {
  id: string;
  address: string;
  token: string;
  cursor: string;
  phoneNumber: string | null;
}

/**
 * Starts the production app in this process, on free ports and its own data folder.
 * @param env additional settings
 * @param dataDir an existing data folder, which the caller deletes
 */
export async function startApp(
  env: Record<string, string> = {},
  overrides: Overrides = {},
  dataDir?: string,
) {
  const folder = dataDir ?? mkdtempSync(join(tmpdir(), 'mayfly-test-'));
  const settings = {
    MAYFLY_HTTP_PORT: '0',
    MAYFLY_SMTP_PORT: '0',
    MAYFLY_DATA_DIR: folder,
    MAYFLY_API_KEY: TEST_KEY,
    MAYFLY_LOG_LEVEL: 'silent',
    ...(ON_POSTGRES && dataDir === undefined && { MAYFLY_DATABASE_URL: await newDatabase() }),
    ...env,
  };
  // Tests may enable the development key in `env`.
  const config = parseConfig(settings, { MAYFLY_DEV_KEY: 'off' });
  const app = createApp(config, { parsing: sharedParsing(), ...overrides });
  const { http, smtp: smtpOrNone, pop3, metrics } = await app.start();
  if (!http) throw new Error('a test app has an HTTP listener');
  const smtp = smtpOrNone ?? { host: '127.0.0.1', port: 0 };

  const api = apiClient(http.url, TEST_KEY);
  return {
    url: http.url,
    /** The port is 0 if the role `smtp` does not run. */
    smtp,
    /** 0 without MAYFLY_POP3_PORT. */
    pop3Port: pop3?.port ?? 0,
    /** Null without MAYFLY_METRICS_PORT. */
    metricsUrl: metrics?.url ?? null,
    dataDir: folder,
    /** Opens its database beside it, as the command line of the operator does; the caller closes it. */
    openStore: () =>
      config.databaseUrl === null
        ? openSqlite({ path: databasePath(folder), exclusive: false })
        : openPostgres({ url: config.databaseUrl }),
    /** Uses the account's key by default. */
    api,
    /** Creates an inbox with the account's key. */
    async createInbox(body: object = {}): Promise<CreatedInbox> {
      const answer = await api('POST', '/v1/inboxes', { body });
      if (answer.status !== 201) throw new Error(`no inbox: ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    /** @returns the summaries of an inbox's messages, newest first; by default with the account's key */
    messages: async ({ id }: { id: string }, query = '', as = TEST_KEY): Promise<Body[]> =>
      (await api('GET', `/v1/inboxes/${id}/messages${query}`, { as })).body.messages,
    /** Signs up. @returns the key of a new account */
    newAccount: async (): Promise<string> =>
      (await api('POST', '/v1/accounts', { as: null, body: { name: 'other' } })).body.key,
    /** Sends a mail with nodemailer; resolves with the final reply. */
    async send(mail: Mail.Options): Promise<string> {
      const transport = createTransport({ host: smtp.host, port: smtp.port });
      try {
        return (await transport.sendMail(mail)).response;
      } finally {
        transport.close();
      }
    },
    async stop(): Promise<void> {
      await app.stop();
      if (dataDir === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

type Settings = Record<string, string>;

/** The app for the tests of a file or a `describe`; its fields are there when these run. */
export const useApp = (env: Settings | (() => Promise<Settings>) = {}, overrides: Overrides = {}): TestApp =>
  startedOnce(async () => startApp(typeof env === 'function' ? await env() : env, overrides));

/** An app that stops with the test. */
export const appOfTest = (...options: Parameters<typeof startApp>): Promise<TestApp> =>
  ofTest(startApp(...options));
