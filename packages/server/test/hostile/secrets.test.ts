import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeAll, describe, expect, test } from 'vitest';
import { databasePath } from '../../src/config/config.ts';
import { createLog, LogOutput } from '../../src/log.ts';
import { makeAccount, openOperator } from '../cli/operator.ts';
import { inDatabase } from '../support/damage.ts';
import { useFolder } from '../support/folder.ts';
import { smtpClient } from '../support/smtp-script.ts';
import { startApp, TEST_KEY, type TestApp } from '../support/start-app.ts';

const HOOK = 'http://127.0.0.1:9999/hook-4711';
const OF_CREATION = 'read token of an idempotent creation';

const dataDir = useFolder();
let app: TestApp;
/** The log at the most detailed level. */
let logged = '';
/** All credentials by description. */
const credentials = new Map<string, string>();
/** Secrets that sign webhooks, which are not stored as hashes (docs/webhooks.md). */
const signingSecrets = new Map<string, string>();

/** Creates keys and tokens in every way, and uses each of them. */
async function makeCredentials(): Promise<void> {
  const { api } = app;
  credentials.set('MAYFLY_API_KEY', TEST_KEY);
  const { body: full } = await api('POST', '/v1/keys', { body: { name: 'full', scope: 'full' } });
  const { body: revoked } = await api('POST', '/v1/keys', { body: { name: 'revoked', scope: 'read' } });
  credentials.set('key by POST /v1/keys', full.key).set('revoked key', revoked.key);
  await api('DELETE', `/v1/keys/${revoked.id}`);
  const operator = await openOperator({}, databasePath(dataDir()));
  credentials.set('key by the command line', await operator.run('key', 'create', '--name', 'operator'));
  credentials.set("first key of the command line's account", (await makeAccount(operator)).key);
  await operator.close();
  credentials.set('key by signing up', await app.newAccount());

  const inbox = await api('POST', '/v1/inboxes');
  credentials.set('read token', inbox.body.token);
  const repeat = { as: full.key, body: { webhookUrl: HOOK }, headers: { 'idempotency-key': 'run-4711' } };
  const first = await api('POST', '/v1/inboxes', repeat);
  const again = await api('POST', '/v1/inboxes', repeat);
  expect(again.body).toEqual(first.body);
  credentials.set(OF_CREATION, first.body.token);
  signingSecrets.set('webhook secret of an inbox', first.body.webhook.secret);

  const webhook = (await api('POST', '/v1/webhooks', { body: { url: HOOK } })).body;
  const rotated = (await api('POST', `/v1/webhooks/${webhook.id}/rotate-secret`)).body;
  signingSecrets.set('webhook secret', webhook.secret).set('rotated webhook secret', rotated.secret);
  await api('POST', `/v1/webhooks/${webhook.id}/test`);
  const ids: Record<string, string> = { 'read token': inbox.body.id, [OF_CREATION]: first.body.id };
  for (const [name, value] of credentials) {
    const used = await api('GET', ids[name] ? `/v1/inboxes/${ids[name]}` : '/v1/inboxes', { as: value });
    expect([name, used.status]).toEqual([name, name === 'revoked key' ? 401 : 200]);
  }
}

/** Causes errors of clients and of the storage, which are logged. */
async function makeTrouble(): Promise<void> {
  const { api } = app;
  for (const value of credentials.values()) {
    for (const authorization of [`Bearer ${value}x`, `Basic ${value}`, value, `Bearer ${value} ${value}`]) {
      await api('GET', '/v1/inboxes', { headers: { authorization } });
    }
    await api('GET', `/v1/inboxes?authorization=${value}&token=${value}`, { as: value });
    await api('GET', `/v1/inboxes/${value}`, { as: value });
    await api('POST', `/${value}`, { as: value, body: `{"token": "${value}"` });
    await api('POST', '/v1/inboxes', { as: value, body: { token: value, localPart: value } });
    const client = await smtpClient(app.smtp.port);
    await client.play([
      '→ 220',
      { send: `EHLO ${value}`, expect: [/./] },
      { send: `AUTH PLAIN ${Buffer.from(`\0user\0${value}`).toString('base64')}`, expect: [/^5/] },
      { send: value, expect: [/^5/] },
    ]);
    client.close();
  }
  // The storage fails while keys and tokens are created. The timeout is for writes that the server has begun.
  const other = new DatabaseSync(databasePath(dataDir()), { timeout: 10_000 });
  other.exec('begin immediate');
  const failing = await Promise.all([
    api('POST', '/v1/keys', { body: { name: 'never', scope: 'full' } }),
    api('POST', '/v1/inboxes', { headers: { 'idempotency-key': 'run-4712' } }),
  ]);
  other.exec('rollback');
  other.close();
  expect(failing.map(({ status }) => status)).toEqual([503, 503]);
}

/** @returns encodings of a secret: plain, base64 at each offset, hex, escaped, reversed */
function formsOf(secret: string): string[] {
  const plain = secret.replace(/^(mf[kt]_|whsec_)/, '');
  const base64 = [0, 1, 2].map((before) =>
    // Without the letters that also depend on adjacent bytes.
    Buffer.from('\0'.repeat(before) + secret)
      .toString('base64')
      .replace(/=+$/, '')
      .slice(4, -2),
  );
  const hex = Buffer.from(plain).toString('hex');
  const escaped = [...plain].map((letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const urlSafe = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  const reversed = [...plain].toReversed().join('');
  return [plain, ...base64, ...urlSafe, hex, hex.toUpperCase(), escaped.join(''), reversed];
}

/** @returns the secrets that the texts contain in any encoding, and where */
function found(texts: Record<string, string>, secrets: Map<string, string>): string[] {
  return Object.entries(texts).flatMap(([place, text]) =>
    [...secrets].flatMap(([name, secret]) =>
      formsOf(secret).some((form) => text.includes(form)) ? `${name} in ${place}` : [],
    ),
  );
}

/** @returns the content of every file in the data folder */
const filesNow = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dataDir()).map((name) => [name, readFileSync(join(dataDir(), name), 'latin1')]),
  );

/** @returns all values of all tables */
function dump(): string {
  const rows = inDatabase(databasePath(dataDir()), (database) => {
    const tables = database.prepare("select name from sqlite_schema where type = 'table'").all();
    return tables.flatMap(({ name }) => database.prepare(`select * from "${name}"`).all());
  });
  const textOf = (value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value;
  return rows.flatMap((row) => Object.values(row).map(textOf)).join('\n');
}

beforeAll(async () => {
  const output = new LogOutput((text, done) => {
    logged += text;
    done();
  });
  const settings = { MAYFLY_WEBHOOK_ALLOW: '127.0.0.0/8', MAYFLY_SIGNUP_PLAN: 'unlimited' };
  const log = createLog('trace', output);
  app = await startApp({ ...settings, MAYFLY_METRICS: 'on' }, { log }, dataDir());
});

describe('secrets that are stored or logged', () => {
  const texts: Record<string, string> = {};

  test('the run creates keys and tokens in every way, uses and misuses them, and makes requests fail', async () => {
    await makeCredentials();
    await makeTrouble();
    texts.metrics = (await app.api('GET', '/metrics')).body;
    // Before and after the stop, which truncates the write-ahead log.
    for (const [name, text] of Object.entries(filesNow())) texts[`${name} while it runs`] = text;
    texts.dump = dump();
    await app.stop();
    for (const [name, text] of Object.entries(filesNow())) texts[`${name} after the stop`] = text;
    texts.log = logged;
    for (const name of ['mayfly.db while it runs', 'mayfly.db-wal while it runs', 'mayfly.db after the stop'])
      expect(Object.keys(texts)).toContain(name);
  });

  test('the search finds a secret in plain text, base64 and hex', () => {
    const known = new Map([
      ['the name of a key', 'operator'],
      ['the hook', HOOK],
    ]);
    for (const where of ['the name of a key in dump', 'the hook in mayfly.db after the stop'])
      expect(found(texts, known)).toContain(where);
    for (const form of ['base64', 'hex'] as const) {
      const hidden = { text: `x${Buffer.from(`{"key":"${TEST_KEY}"}`).toString(form)}` };
      expect(found(hidden, credentials)).toEqual(['MAYFLY_API_KEY in text']);
    }
    expect(texts.log).toContain('"route":"/v1/keys"');
    expect(texts.log?.length).toBeGreaterThan(10_000);
  });

  test('no key or read token is in a file, a dump, the metrics or the log, in any encoding', () => {
    expect(credentials.size).toBe(8);
    expect(found(texts, credentials)).toEqual([]);
  });

  test('no webhook secret is in the metrics or the log; the database keeps it, because deliveries are signed with it', () => {
    expect(signingSecrets.size).toBe(3);
    const { log = '', metrics = '', dump: stored = '' } = texts;
    expect(found({ log, metrics }, signingSecrets)).toEqual([]);
    expect(found({ stored }, signingSecrets)).toHaveLength(signingSecrets.size);
  });
});
