import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { queryPostgres } from '../../store/postgres/open-postgres.ts';
import type { Body } from '../../support/api-client.ts';
import { inDatabase } from '../../support/damage.ts';
import { useFolder } from '../../support/folder.ts';
import type { EngineUnderTest } from '../../support/nodes.ts';
import { startApp, TEST_KEY, type TestApp } from '../../support/start-app.ts';
import { type HttpReceiver, startHttp } from '../../webhooks/receivers.ts';
import type { Place } from './readings.ts';

type Row = Record<string, unknown>;

export interface ReadingServers {
  apps: readonly TestApp[];
  /** The server that takes mail; `last` is another one where the engine allows it. */
  first(): TestApp;
  last(): TestApp;
  /** What the database says, beside the servers. */
  query(text: string): Promise<Row[]>;
  /** An inbox for one mail, seen from the last server. */
  newPlace(mail: string, key?: string): Promise<Place>;
  /** Stops the servers and starts them again on what they have stored. */
  restart(): Promise<void>;
}

/** The id of the newest message of an inbox. */
export async function messageIdIn(query: ReadingServers['query'], inboxId: string): Promise<string> {
  const [row] = await query(`select m.id from messages m join inboxes i on i.seq = m.inbox_seq
    where i.id = '${inboxId}' order by m.received_at desc limit 1`);
  return String(row?.id);
}

/** As many servers as an engine allows, with a receiver of webhooks, while the cases of a `describe` run. */
export function useReadingServers(
  engine: EngineUnderTest,
  settings: Record<string, string> = {},
): ReadingServers {
  const folder = useFolder();
  const apps: TestApp[] = [];
  let receiver: HttpReceiver;
  let url: string | undefined;
  beforeAll(async () => {
    url = (await engine.env()).MAYFLY_DATABASE_URL;
    receiver = await startHttp();
    await start();
  });
  const start = async (): Promise<void> => {
    const own = { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32', MAYFLY_SIGNUP_PLAN: 'unlimited' };
    const env = { ...own, ...(url !== undefined && { MAYFLY_DATABASE_URL: url }), ...settings };
    for (let n = 0; n < engine.nodes; n++) apps.push(await startApp(env, {}, join(folder(), String(n))));
  };
  const stop = async (): Promise<void> => {
    for (const app of apps.splice(0)) await app.stop();
  };
  afterAll(async () => {
    await stop();
    await receiver.close();
  });
  const first = () => apps[0] as TestApp;
  const last = () => apps.at(-1) as TestApp;
  const query = async (text: string): Promise<Row[]> =>
    url === undefined
      ? inDatabase(join(first().dataDir, 'mayfly.db'), (database) => database.prepare(text).all())
      : queryPostgres(url, text);
  return {
    ...{ apps, first, last, query, restart: () => stop().then(start) },
    async newPlace(mail, key = TEST_KEY) {
      const { api, url: at } = last();
      const body = { labels: { mail }, webhookUrl: `http://127.0.0.1:${receiver.port}/hook` };
      const inbox: Body = (await first().api('POST', '/v1/inboxes', { as: key, body })).body;
      const { cursor } = (await api('GET', '/v1/messages?limit=1', { as: key })).body;
      return {
        ...{ url: at, key, inbox, mail, accountCursor: cursor },
        api: (method, path, options = {}) => api(method, path, { as: key, ...options }),
        messageId: () => messageIdIn(query, inbox.id),
        hooked: () => receiver.requests.map(({ body: hook }): Body => JSON.parse(hook.toString())),
      };
    },
  };
}
