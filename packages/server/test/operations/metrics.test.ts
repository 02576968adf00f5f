import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createApp } from '../../src/app.ts';
import { databasePath, parseConfig } from '../../src/config/config.ts';
import { DEV_DEFAULTS } from '../../src/config/settings.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { useFolderOfTest } from '../support/folder.ts';
import { takePort } from '../support/ports.ts';
import { startServer } from '../support/server-process.ts';
import { smtpClient } from '../support/smtp-script.ts';
import { appOfTest, type TestApp, useApp } from '../support/start-app.ts';
import { type Metric, parsePrometheus } from './prometheus.ts';

const folder = useFolderOfTest();

/** The production app with a metrics listener on a free port. */
const start = (env: Record<string, string> = {}, clock?: FakeClock) =>
  appOfTest({ MAYFLY_METRICS_PORT: '0', ...env }, clock ? { clock } : {});

/** One for all cases that only read. */
const shared = useApp({ MAYFLY_METRICS_PORT: '0' });

async function scrape(app: Pick<TestApp, 'metricsUrl'>): Promise<Map<string, Metric>> {
  const response = await fetch(app.metricsUrl ?? '');
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  return parsePrometheus(await response.text());
}

const valueIn = (metrics: Map<string, Metric>, name: string): number | undefined =>
  metrics.get(name)?.samples[0]?.value;

describe('/metrics', () => {
  it('is not served by default, not even to loopback clients, because a reverse proxy is one', async () => {
    const app = await appOfTest();
    expect(app.metricsUrl).toBeNull();
    for (const asked of [{ as: null }, { headers: { 'x-forwarded-for': '127.0.0.1' } }])
      expect((await app.api('GET', '/metrics', asked)).status).toBe(404);
  });

  it('is served on the listener of MAYFLY_METRICS_PORT, and not on the port of the API', async () => {
    expect(valueIn(await scrape(shared), 'mayfly_database_up')).toBe(1);
    expect((await shared.api('GET', '/metrics', { as: null })).status).toBe(404);
  });

  it('is served on the port of the API with MAYFLY_METRICS=on', async () => {
    const app = await appOfTest({ MAYFLY_METRICS: 'on' });
    await app.createInbox();
    const { status, body } = await app.api('GET', '/metrics', { as: null });
    expect([status, valueIn(parsePrometheus(body), 'mayfly_database_up')]).toEqual([200, 1]);
    expect(body).toContain('mayfly_http_request_seconds_count{method="POST",route="/v1/inboxes"');
  });

  it('is served by a process of any role', async () => {
    const listening = { MAYFLY_HTTP_PORT: '0', MAYFLY_SMTP_PORT: '0', MAYFLY_METRICS_PORT: '0' };
    for (const role of ['worker', 'smtp', 'http']) {
      const own = { MAYFLY_DATA_DIR: join(folder(), role), MAYFLY_LOG_LEVEL: 'silent', MAYFLY_ROLES: role };
      const app = createApp(parseConfig({ ...listening, ...own }));
      onTestFinished(() => app.stop());
      const all = await scrape({ metricsUrl: (await app.start()).metrics?.url ?? null });
      expect([role, valueIn(all, 'mayfly_inboxes_live')]).toEqual([role, 0]);
    }
  });

  it.each([
    ['GET', '/', 404],
    ['GET', '/v1/inboxes', 404],
    ['GET', '/metrics?name=x', 200],
    ['HEAD', '/metrics', 200],
    ['POST', '/metrics', 405],
    ['GET', '//metrics', 404],
  ])('has a listener that answers %s %s with %i', async (method, path, status) => {
    const response = await fetch(new URL(shared.metricsUrl ?? '').origin + path, { method });
    expect(response.status).toBe(status);
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    if (status === 405) expect(response.headers.get('allow')).toBe('GET, HEAD');
    if (method === 'HEAD') expect(await response.text()).toBe('');
  });

  it('has a listener that survives bytes that are not HTTP and too many connections', async () => {
    const open = () => connect(Number(new URL(shared.metricsUrl ?? '').port), '127.0.0.1');
    const broken = open();
    broken.write('EHLO metrics\r\n\r\n');
    expect(await text(broken)).toMatch(/^HTTP\/1\.1 400 /);
    const idle = Array.from({ length: 60 }, () => open().on('error', () => undefined));
    await Promise.all(idle.slice(0, 20).map((socket) => once(socket, 'connect')));
    for (const socket of idle) socket.destroy();
    await expect.poll(() => scrape(shared).catch(() => null)).not.toBeNull();
  });
});

describe('a port for metrics that is in use', () => {
  it('is reported by mayfly dev, which starts without metrics, where it is the default', async () => {
    // Both want the default port; another process may already have it.
    const start = async (name: string) => {
      const dataDir = join(folder(), name);
      const server = await startServer({ dataDir, command: 'dev', env: { MAYFLY_API_KEY: '' } });
      onTestFinished(async () => void (await server.end('SIGTERM')));
      return server;
    };
    await start('first');
    const second = await start('second');
    const port = DEV_DEFAULTS.MAYFLY_METRICS_PORT;
    const off = `Metrics +off: port ${port} is in use\\. MAYFLY_METRICS_PORT selects another one\\.`;
    expect(second.greeting).toMatch(RegExp(off));
    expect((await fetch(`${second.url}/healthz`)).status).toBe(200);
  });

  it('makes mayfly dev fail, too, where it was configured', async () => {
    const { port, release } = await takePort();
    onTestFinished(release);
    const env = { MAYFLY_METRICS_PORT: port };
    const starting = startServer({ dataDir: folder(), command: 'dev', env });
    await expect(starting).rejects.toThrow(/set MAYFLY_METRICS_PORT to another port/);
  });
});

describe('the gauges', () => {
  it('show live inboxes, held requests and messages in flight', async () => {
    const clock = new FakeClock();
    const app = await start({}, clock);
    const inbox = await app.createInbox();
    const { id } = await app.createInbox();
    const client = await smtpClient(app.smtp.port);
    await client.play([
      '→ 220',
      'EHLO app.example → 250',
      'MAIL FROM:<app@app.example> → 250',
      `RCPT TO:<${inbox.address}> → 250`,
      'DATA → 354',
      { send: `Subject: half\r\n\r\n${'x'.repeat(40_000)}` },
    ]);
    const wait = app.api('GET', `/v1/inboxes/${id}/messages?wait=60`);
    const value = async (name: string) => valueIn(await scrape(app), name);
    await expect.poll(() => value('mayfly_http_requests_held')).toBe(1);
    await expect.poll(() => value('mayfly_smtp_bytes_in_flight')).toBeGreaterThan(40_000);
    expect(await value('mayfly_inboxes_live')).toBe(2);
    expect(await value('mayfly_smtp_connections_open')).toBe(1);

    await app.api('DELETE', `/v1/inboxes/${id}`);
    await wait;
    await client.play(['. → 250 2.0.0']);
    client.close();
    await clock.advance(1_000);
    // Work ends after its response, and the mail is read after its 250.
    for (const of of ['http_requests_held', 'smtp_bytes_in_flight', 'parser_jobs', 'store_writes_pending'])
      await expect.poll(() => value(`mayfly_${of}`), { message: of }).toBe(0);
    expect(await value('mayfly_inboxes_live')).toBe(1);
    await clock.leap(61 * 60_000);
    expect(await value('mayfly_inboxes_live')).toBe(0);
  });

  it('show how many webhook deliveries are pending and how overdue the first one is', async () => {
    const clock = new FakeClock();
    // Without the worker nothing attempts deliveries that are due.
    const app = await start({ MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8', MAYFLY_ROLES: 'http,smtp' }, clock);
    const inbox = await app.createInbox({ webhookUrl: 'http://127.0.0.1:9999/' });
    for (let n = 0; n < 2; n++) await app.send({ from: 'a@app.example', to: inbox.address });
    // They are due once the mails are read.
    await app.api('GET', `/v1/inboxes/${inbox.id}/messages`);
    await clock.advance(90_000);
    const metrics = await scrape(app);
    expect(valueIn(metrics, 'mayfly_webhook_deliveries_pending')).toBe(2);
    expect(valueIn(metrics, 'mayfly_webhook_overdue_seconds')).toBeGreaterThanOrEqual(90);
  });

  it('show the sizes of disk and database, and the version', async () => {
    const metrics = await scrape(shared);
    expect(valueIn(metrics, 'mayfly_database_size_bytes')).toBeGreaterThan(4_096);
    expect(valueIn(metrics, 'mayfly_disk_size_bytes')).toBeGreaterThan(
      valueIn(metrics, 'mayfly_disk_free_bytes') ?? Number.POSITIVE_INFINITY,
    );
    const labels = { version: expect.stringMatching(/^\d+\.\d+/) };
    expect(metrics.get('mayfly_build_info')?.samples).toEqual([
      { name: 'mayfly_build_info', labels, value: 1 },
    ]);
  });

  it('show that the database cannot be written to, and all others are still served', async () => {
    const app = await start();
    const other = new DatabaseSync(databasePath(app.dataDir), { timeout: 5_000 });
    onTestFinished(() => other.close());
    other.exec('begin immediate');
    const metrics = await scrape(app);
    expect(valueIn(metrics, 'mayfly_database_up')).toBe(0);
    expect(valueIn(metrics, 'mayfly_inboxes_live')).toBe(0);
  });
});

/** Metrics of our own, after each of the things that they count has happened. */
async function everyMetric(): Promise<string> {
  const inbox = await shared.createInbox();
  await shared.send({ from: 'a@app.example', to: inbox.address, subject: 'one' });
  return (await fetch(shared.metricsUrl ?? '')).text();
}

const PROMTOOL = spawnSync('promtool', ['--version']).status === 0;

describe('the response of /metrics', () => {
  it('is valid in the text format of Prometheus', async () => {
    const metrics = parsePrometheus(await everyMetric());
    for (const { name, type, help } of metrics.values()) {
      if (!name.startsWith('mayfly_')) continue;
      expect([name, type === 'counter']).toEqual([name, name.endsWith('_total')]);
      expect(help).toMatch(/^[A-Z].*\.$/);
    }
  });

  it.skipIf(!PROMTOOL)('passes promtool (skipped where there is no promtool)', async () => {
    const input = await everyMetric();
    expect(execFileSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })).toBe('');
  });

  it('is documented in docs/monitoring.md, each metric with its type, and nothing else', async () => {
    const metrics = parsePrometheus(await everyMetric());
    const served = [...metrics.values()]
      .filter(({ name }) => name.startsWith('mayfly_'))
      .map(({ name, type, help }) => `| \`${name}\` | ${type} | ${help.replaceAll('|', '\\|')} |`);
    const page = readFileSync(join(import.meta.dirname, '../../../../docs/monitoring.md'), 'utf8');
    const documented = page.split('\n').filter((line) => line.startsWith('| `mayfly_'));
    expect(documented).toEqual(served.toSorted());
  });
});
