import { Client } from 'pg';
import { expect, it, onTestFinished } from 'vitest';
import { hasPostgres, startPostgres } from '../../support/postgres.ts';
import { appOfTest } from '../../support/start-app.ts';
import { createDatabase } from './open-postgres.ts';

/** A readiness probe waits no longer. */
const PROBE_MS = 1_000;

it.skipIf(!(await hasPostgres()))(
  'readiness on PostgreSQL is red while the synchronous standby is gone and nothing can be stored, and green again with it',
  async () => {
    const cluster = await startPostgres();
    onTestFinished(() => cluster.remove());
    const admin = new Client(cluster.url());
    await admin.connect();
    onTestFinished(() => admin.end());
    const waitForStandby = async (name: string) => {
      await admin.query(`alter system set synchronous_standby_names = '${name}'`);
      await admin.query('select pg_reload_conf()');
      const show = async () => (await admin.query('show synchronous_standby_names')).rows[0];
      await expect.poll(show).toEqual({ synchronous_standby_names: name });
    };
    const url = new URL(await createDatabase(cluster));
    await admin.query('create role mayfly login');
    await admin.query(`alter database ${url.pathname.slice(1)} owner to mayfly`);
    url.username = 'mayfly';
    const app = await appOfTest({ MAYFLY_DATABASE_URL: url.href });
    const isReady = () =>
      fetch(`${app.url}/readyz`, { signal: AbortSignal.timeout(PROBE_MS) }).then(
        ({ ok }) => ok,
        () => false,
      );
    await expect.poll(isReady).toBe(true);
    await waitForStandby('absent');
    // The processes of the other connections read the settings a moment later.
    await expect.poll(isReady).toBe(false);
    // More probes than the server has connections.
    expect(await Promise.all(Array.from({ length: 20 }, isReady))).not.toContain(true);
    await waitForStandby('');
    await expect.poll(isReady).toBe(true);
  },
);
