import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import type Mail from 'nodemailer/lib/mailer/index.js';
import { createApp, type Overrides } from '../../src/app.ts';
import { parseConfig } from '../../src/config.ts';

/** The key of the first account in every test app. */
export const TEST_KEY = 'test_key_0123456789abcdef';

export interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever came.
  body: any;
}

/** The production app on free ports and a data folder of its own, and the ways to talk to it. */
export interface TestApp {
  url: string;
  smtp: { host: string; port: number };
  dataDir: string;
  /** One request; `body` goes as JSON, the answer is parsed when it is JSON, else its text. */
  api(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** A new inbox, by the account's key. */
  createInbox(body?: object): Promise<{ id: string; address: string; token: string; cursor: string }>;
  /** Sends a mail as a user's program does; resolves with the 250's text. */
  send(mail: Mail.Options): Promise<string>;
  stop(): Promise<void>;
}

export interface RequestOptions {
  /** A bearer credential; null sends none; by default the account's key. */
  as?: string | null;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/**
 * Starts it.
 * @param env settings beside the test's own
 * @param dataDir a folder to start on again; then it is the caller's to remove
 */
export async function startApp(
  env: Record<string, string> = {},
  overrides: Overrides = {},
  dataDir?: string,
): Promise<TestApp> {
  const folder = dataDir ?? mkdtempSync(join(tmpdir(), 'mayfly-test-'));
  const config = parseConfig({
    MAYFLY_HTTP_PORT: '0',
    MAYFLY_SMTP_PORT: '0',
    MAYFLY_DATA_DIR: folder,
    MAYFLY_API_KEY: TEST_KEY,
    MAYFLY_LOG_LEVEL: 'silent',
    ...env,
  });
  const app = createApp(config, overrides);
  const { http, smtp } = await app.start();
  if (!http || !smtp) throw new Error('a test app has both listeners');

  const api: TestApp['api'] = async (method, path, options = {}) => {
    const { as = TEST_KEY, body, headers = {}, signal } = options;
    const response = await fetch(http.url + path, {
      method,
      headers: {
        ...(as === null ? {} : { authorization: `Bearer ${as}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
    const text = await response.text();
    const json = /json/.test(response.headers.get('content-type') ?? '');
    return {
      status: response.status,
      headers: response.headers,
      body: json && text ? JSON.parse(text) : text,
    };
  };

  return {
    url: http.url,
    smtp,
    dataDir: folder,
    api,
    async createInbox(body = {}) {
      const answer = await api('POST', '/v1/inboxes', { body });
      if (answer.status !== 201) throw new Error(`no inbox: ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    async send(mail) {
      const transport = createTransport({ host: smtp.host, port: smtp.port, secure: false, ignoreTLS: true });
      try {
        return (await transport.sendMail(mail)).response;
      } finally {
        transport.close();
      }
    },
    async stop() {
      await app.stop();
      if (dataDir === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}
