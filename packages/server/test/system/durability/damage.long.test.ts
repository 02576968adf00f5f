import { spawnSync } from 'node:child_process';
import { closeSync, cpSync, openSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { damagePage, unreadable } from '../../support/damage.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { sendTo } from '../../support/mail/smtp-mail.ts';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import { useSite, useSiteOfTest } from '../nodes/nodes.ts';

const MAIN = fileURLToPath(new URL('../../../bin/mayfly.js', import.meta.url));
const INBOXES = 6;
const MAILS_EACH = 10;

/** A stopped server with inboxes and mail, whose data folder is copied for each test. */
const whole = useSite(1, { engine: 'SQLite' });
let inboxes: Inbox[];
const site = useSiteOfTest(0, { engine: 'SQLite' });
let dataDir: string;
/** What the server has written to its standard output. */
let output: string;

/** @returns the code of the reply */
async function send({ smtpPort }: ServerProcess, to: string, subject: string): Promise<number> {
  const mail = `Subject: ${subject}\n\n${`text of ${subject}. `.repeat(100)}`;
  return Number((await sendTo(smtpPort, to, mail)).slice(0, 3));
}

async function start(env: Record<string, string> = {}): Promise<ServerProcess> {
  const server = await site().startNode({ env });
  output = server.greeting;
  server.process.stdout?.on('data', (piece) => (output += piece));
  return server;
}

/** @returns the log lines of a level */
const reported = (level = 'error'): { msg: string; path?: string }[] => {
  const lines = output.trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line)).filter((line) => line.level === level);
};

const file = () => join(dataDir, 'mayfly.db');

/** Ids of the messages whose rows SQLite cannot read. */
async function lostMessages(): Promise<string[]> {
  const messages = await site().select('select id, source_seq as source from messages');
  const sources = messages.map(({ source }) => Number(source));
  const lost = unreadable(file(), 'select * from sources where seq = ?', sources);
  return messages.filter(({ source }) => lost.includes(Number(source))).map(({ id }) => String(id));
}

/** @returns status and code of a problem */
async function outcome(method: string, path: string, body?: object): Promise<string> {
  const answer = await site().node(0).api(method, path, { body });
  return answer.status < 300 ? String(answer.status) : `${answer.status} ${answer.body.code}`;
}

const DAMAGED = '503 storage_damaged';

/** Runs `mayfly check`. */
function runCheck(): { code: number | null; text: string } {
  const env = { PATH: process.env.PATH, MAYFLY_DATA_DIR: dataDir };
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, 'check'], { env, encoding: 'utf8' });
  return { code: status, text: stdout + stderr };
}

beforeAll(async () => {
  const filled = whole().node(0);
  inboxes = await whole().createInboxes(INBOXES);
  for (const { address } of inboxes)
    for (let n = 0; n < MAILS_EACH; n++) expect(await send(filled, address, `mail ${n}`)).toBe(250);
  expect(await send(filled, 'nobody@mayfly.test', 'refused')).toBe(550);
  await filled.end('SIGTERM');
});
beforeEach(() => {
  dataDir = site().dataDir();
  cpSync(whole().dataDir(), dataDir, { recursive: true });
});

/** @returns the outcome of a request for each message */
async function readAll(): Promise<Map<string, string>> {
  const query = 'select m.id, i.id as inbox from messages m join inboxes i on i.seq = m.inbox_seq';
  const outcomes = new Map<string, string>();
  for (const { id, inbox } of await whole().select(query))
    outcomes.set(String(id), await outcome('GET', `/v1/inboxes/${inbox}/messages/${id}`));
  return outcomes;
}

describe('a damaged page of the database', () => {
  it('costs the answers that need it, readiness and one line of the log, and nothing else', async () => {
    damagePage(file(), 'sources');
    const lost = await lostMessages();
    expect(lost.length).toBeGreaterThan(0);
    const running = await start();
    expect(await outcome('GET', '/readyz')).toBe('200');

    const outcomes = await readAll();
    const failed = [...outcomes].filter(([, status]) => status === DAMAGED).map(([id]) => id);
    expect(failed.sort()).toEqual(lost.sort());
    expect(new Set(outcomes.values())).toEqual(new Set(['200', DAMAGED]));
    expect(await outcome('GET', '/readyz')).toBe(DAMAGED);
    expect(await outcome('GET', '/healthz')).toBe('200');

    // Lists and searches need no source.
    for (const { id } of inboxes)
      expect(await outcome('GET', `/v1/inboxes/${id}/messages?limit=${MAILS_EACH}`)).toBe('200');
    expect(await outcome('GET', '/v1/messages?q=nothing')).toBe('200');
    const fresh = await running.createInbox();
    expect(await send(running, fresh.address, 'fresh')).toBe(250);
    expect(await outcome('GET', `/v1/inboxes/${fresh.id}/messages?subject=fresh`)).toBe('200');
    for (const { id } of inboxes) expect(await outcome('DELETE', `/v1/inboxes/${id}`)).toBe('204');

    expect((await running.end('SIGTERM')).code).toBe(0);
    const lines = reported().filter(({ msg }) => msg.includes('mayfly check'));
    expect(lines).toEqual([expect.objectContaining({ path: file() })]);
  });

  it('is named by mayfly check with the messages that it costs, also while the server runs', async () => {
    expect(runCheck()).toEqual({ code: 0, text: `The database in ${dataDir} is sound.\n` });
    damagePage(file(), 'sources');
    const lost = await lostMessages();
    await start();
    const { code, text } = runCheck();
    expect(code).toBe(1);
    expect(text).toMatch(/^Table sources: rows are damaged\.\n {2}Tree \d+ page \d+: /);
    expect(text).toMatch(/mayfly restore/);
    const named = text.match(/msg_\w+/g) ?? [];
    expect(named.sort()).toEqual(lost.sort());
  });

  it('of an index costs no row, says mayfly check', async () => {
    damagePage(file(), 'messages_of_account');
    const { code, text } = runCheck();
    expect(code).toBe(1);
    expect(text).toMatch(/^Table messages: only indexes are damaged; no row is lost\./);
    await start();
    expect(new Set((await readAll()).values())).toEqual(new Set(['200']));
  });

  const ALL = [
    ...['accounts', 'keys', 'sqlite_autoindex_keys_2', 'addresses', 'addresses_by_end', 'inboxes'],
    ...['sqlite_autoindex_inboxes_1', 'inboxes_of_account', 'inboxes_by_end', 'messages'],
    ...['messages_of_account', 'refusals', 'refusals_by_time', 'usage_months', 'account_orders'],
    ...['schema_versions', 'sqlite_schema'],
  ];
  it.each(inForm(['accounts', 'inboxes', 'refusals_by_time', 'account_orders', 'schema_versions'], ALL))(
    'of %s does not end the server, or keeps it from starting with a sentence that says what to do',
    async (table) => {
      damagePage(file(), table);
      try {
        await start();
      } catch (error) {
        expect(String(error)).toContain(file());
        return expect(String(error)).toMatch(/mayfly (check|restore)/);
      }
      const ofInboxes = inboxes.flatMap(({ id }): [string, string, object?][] => [
        ['GET', `/v1/inboxes/${id}`],
        ['GET', `/v1/inboxes/${id}/messages`],
        ['POST', `/v1/inboxes/${id}/wait`, { timeoutSeconds: 0, match: { subject: 'never' } }],
        ['DELETE', `/v1/inboxes/${id}`],
      ]);
      const others = ['/v1/messages?q=mail', '/v1/refusals', '/v1/usage', '/v1/inboxes?limit=5'];
      const requests = [...ofInboxes, ...others.map((path) => ['GET', path] as const)];
      for (const [method, path, body] of [...requests, ['POST', '/v1/inboxes', {}] as const])
        expect(await outcome(method, path, body)).toMatch(/^(20[014]|404 not_found|503 storage_damaged)$/);
      for (const { address } of inboxes)
        expect([250, 451, 550]).toContain(await send(site().node(0), address, 'one more'));
      expect(await outcome('GET', '/readyz')).toBe(DAMAGED);
      expect((await site().node(0).end('SIGTERM')).code).toBe(0);
      expect(reported().filter(({ msg }) => msg.includes('mayfly check'))).toHaveLength(1);
    },
    timeLimit(300_000),
  );
});

describe('a data folder that is removed while the server runs', () => {
  it('costs the next mail its 250, readiness and one line of the log', async () => {
    const running = await start();
    const [inbox] = inboxes as [Inbox];
    expect(await send(running, inbox.address, 'before')).toBe(250);
    rmSync(dataDir, { recursive: true });
    expect(await outcome('GET', '/readyz')).toBe(DAMAGED);
    for (const subject of ['first', 'second']) expect(await send(running, inbox.address, subject)).toBe(451);
    expect(await outcome('POST', '/v1/inboxes', {})).toBe(DAMAGED);
    expect((await running.end('SIGTERM')).code).toBe(0);
    const err = expect.objectContaining({ message: expect.stringContaining('removed') });
    expect(reported().filter(({ path }) => path)).toEqual([expect.objectContaining({ path: file(), err })]);
  });

  it('or replaced by another one, costs the same; mail goes on when it is back', async () => {
    const running = await start();
    const [inbox] = inboxes as [Inbox];
    renameSync(dataDir, `${dataDir} elsewhere`);
    cpSync(whole().dataDir(), dataDir, { recursive: true });
    expect(await send(running, inbox.address, 'elsewhere')).toBe(451);
    rmSync(dataDir, { recursive: true });
    renameSync(`${dataDir} elsewhere`, dataDir);
    expect(await send(running, inbox.address, 'back')).toBe(250);
  });
});

it.each([
  ['was emptied', 1, () => closeSync(openSync(file(), 'w'))],
  ['was removed', 1, () => rmSync(file())],
  ['was never there', 0, () => rmSync(dataDir, { recursive: true })],
])('a database file that %s gives %i warnings at the start', async (_how, count, change) => {
  change();
  await start({ MAYFLY_LOG_LEVEL: 'warn' });
  const msg = expect.stringMatching(/empty or missing.*mayfly restore/);
  expect(reported('warn')).toEqual(Array(count).fill(expect.objectContaining({ msg })));
});
