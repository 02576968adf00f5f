import { setTimeout } from 'node:timers/promises';
import { Client } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { newId } from '../../../src/ids.ts';
import type { InboxRecord, Store } from '../../../src/store/contract/index.ts';
import { urlsOf } from '../../../src/store/postgres/connections/servers.ts';
import type { Hint } from '../../../src/store/postgres/hints.ts';
import { openPostgres } from '../../../src/store/postgres/open.ts';
import { DEADLINE_MS } from '../../support/deadline.ts';
import { hasPostgres, type PostgresCluster, startPostgres } from '../../support/postgres.ts';
import { startTcpProxy } from '../../support/tcp-proxy.ts';
import { inboxAt, T } from '../builders.ts';
import { keepSending, RETRY_MS } from './keep-sending.ts';

/** The npm package has programs for Linux on x64 only; elsewhere these tests are skipped. */
const IS_THERE = await hasPostgres();

describe('a URL with several servers', () => {
  it.each([
    ['postgres://one/db', ['postgres://one/db']],
    ['postgres://u:p@one:1,two:2/db?a=b', ['postgres://u:p@one:1/db?a=b', 'postgres://u:p@two:2/db?a=b']],
    ['postgresql://u:a,b@one,[::1]:2', ['postgresql://u:a,b@one', 'postgresql://u:a,b@[::1]:2']],
  ])('%s', (url, urls) => {
    expect(urlsOf(url)).toEqual(urls);
  });
});

describe.skipIf(!IS_THERE)('a PostgreSQL with a synchronous standby', () => {
  let primary: PostgresCluster;
  let standby: PostgresCluster;
  let store: Store;
  let accountId: string;
  let inbox: InboxRecord;
  const hints: Hint[] = [];

  async function query(on: PostgresCluster, text: string): Promise<Record<string, unknown>[]> {
    const client = new Client(on.url());
    await client.connect();
    const { rows } = await client.query(text);
    await client.end();
    return rows;
  }

  beforeEach(async () => {
    primary = await startPostgres();
    standby = await primary.startStandby();
    await query(primary, "alter system set synchronous_standby_names = '*'");
    await query(primary, 'select pg_reload_conf()');
    return async () => {
      await standby.stop('SIGQUIT');
      await primary.remove();
    };
  });
  afterEach(() => store?.close());

  /** @param ports of the proxies or servers that the URL names, in this order */
  async function open(ports: readonly number[]): Promise<void> {
    const servers = ports.map((port) => `127.0.0.1:${port}`).join(',');
    const node = 'this';
    const waiting = () => ({ inboxes: [], accounts: [] });
    store = await openPostgres({
      url: `postgres://postgres@${servers}/postgres`,
      hints: { clock: systemClock, node, waiting, onHint: (hint) => hints.push(hint) },
    });
    accountId = newId('acc', T);
    await store.accounts.create({ id: accountId, name: 'a', plan: 'free', createdAt: T }, null);
    inbox = (await store.inboxes.create(accountId, inboxAt(), 10, null)).inbox;
  }

  async function expectAllThere(acknowledged: readonly string[]): Promise<void> {
    const rows = await store.messages.listAfter(inbox.id, { after: 0, limit: 1e6 }, T);
    const subjects = rows.map(({ summary }) => summary.subject);
    expect(acknowledged.filter((subject) => !subjects.includes(subject))).toEqual([]);
  }

  /** Resolves when the store can write. */
  async function untilRecovered(): Promise<void> {
    await expect
      .poll(
        () =>
          store.ping().then(
            () => 'works',
            (error) => error.code,
          ),
        { timeout: DEADLINE_MS, interval: RETRY_MS },
      )
      .toBe('works');
  }

  it('loses nothing acknowledged when the primary crashes, and works on the standby once that is promoted', async () => {
    await open([primary.port, standby.port]);
    const stop = new AbortController();
    const acknowledged: string[] = [];
    const sending = keepSending(store, inbox, acknowledged, stop.signal);
    await setTimeout(300);
    await primary.stop('SIGQUIT');
    await expect(store.ping()).rejects.toMatchObject({ code: 'unavailable' });
    hints.length = 0;
    await query(standby, 'select pg_promote(true)');
    await untilRecovered();
    await setTimeout(300);
    stop.abort();
    await sending;
    expect(acknowledged.length).toBeGreaterThan(20);
    await expectAllThere(acknowledged);
    // The connection that listens is there again: everything may have changed meanwhile.
    await expect.poll(() => hints.map(({ kind }) => kind), { timeout: DEADLINE_MS }).toContain('all');
  });

  it('is left when its primary answers nothing any more, though no connection was closed', async () => {
    const proxy = await startTcpProxy(() => primary.port);
    await open([proxy.port, standby.port]);
    const stop = new AbortController();
    const acknowledged: string[] = [];
    const sending = keepSending(store, inbox, acknowledged, stop.signal);
    await setTimeout(300);
    // Also the connections that are opened later.
    const freezing = setInterval(() => {
      for (const connection of proxy.connections()) connection.freeze();
    }, 2);
    await query(standby, 'select pg_promote(true)');
    await untilRecovered();
    await setTimeout(300);
    stop.abort();
    await sending;
    await expectAllThere(acknowledged);
    clearInterval(freezing);
    await proxy.close();
  });

  it('is found whatever the order of its servers, and refused if there is no primary', async () => {
    await open([standby.port, primary.port]);
    await store.ping();
    await expect(openPostgres({ url: standby.url() })).rejects.toThrow(
      'The PostgreSQL database cannot be used: The PostgreSQL server is a standby. Give the address of the primary in MAYFLY_DATABASE_URL, or those of all servers, separated by commas.',
    );
  });
});
