import { afterAll, describe, expect, it } from 'vitest';
import { bombOf } from '../../hostile/bombs.ts';
import type { Body } from '../../support/api-client.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { startNameServer } from '../../support/name-server.ts';
import { describeOnEngines } from '../../support/nodes.ts';
import { smtpClient } from '../../support/smtp-script.ts';
import { TEST_KEY } from '../../support/start-app.ts';
import { messageIdIn, type ReadingServers, useReadingServers } from './reading-servers.ts';
import { openSender, send, sendOne, summaryOf, wholeMail } from './whole-mail.ts';

/** As many mails as the sink keeps. */
const SINK = 10_000;
const SENDERS = 20;
const bomb = bombOf('encoded words of many charsets', inForm(1_000_000, 2_000_000));
/** In one inbox, so that the last of them is unread when the first is asked for. */
const TOGETHER = inForm(2, 4);

/** How an inbox or its mail ends, by which request, and what its readers may be told then. */
const ENDINGS = [
  ['is deleted', 'DELETE', '', 404],
  ['is expired by its owner', 'POST', '/expire', 410],
  ['is emptied', 'DELETE', '/messages', 200],
  ['loses the message that is asked for', 'DELETE', '/messages/MESSAGE', 200],
] as const;

/** Rows of mail that are left, by table, whatever the tables are called. */
async function mailRows({ query }: ReadingServers): Promise<Record<string, number>> {
  const tables = await query(`select name from sqlite_schema where type = 'table'`).catch(() =>
    query(`select tablename as name from pg_tables where schemaname = 'public'`),
  );
  const counts: Record<string, number> = {};
  for (const { name } of tables.filter((table) => /message|source|reading|unread/.test(String(table.name)))) {
    const [row] = await query(`select count(*) as n from ${name}`);
    if (Number(row?.n) > 0) counts[String(name)] = Number(row?.n);
  }
  return counts;
}

describeOnEngines('an inbox with mail that is not read yet', (engine) => {
  const servers = useReadingServers(engine, { MAYFLY_SINK: 'on' });
  const port = () => servers.first().smtp.port;

  async function sendBombs(to: string): Promise<void> {
    const sent = Array.from({ length: TOGETHER }, () => sendOne(port(), to, bomb));
    for (const reply of await Promise.all(sent)) expect(reply).toMatch(/^250 /);
  }

  it.each(ENDINGS)(
    '%s: every request for it is answered, and none later has it',
    async (_, method, ending, after) => {
      const inbox = await servers.first().createInbox();
      await sendBombs(inbox.address);
      const path = `/v1/inboxes/${inbox.id}`;
      const { api } = servers.last();
      const message = await messageIdIn(servers.query, inbox.id);
      const wait = (match: object, timeoutSeconds = 60) =>
        api('POST', `${path}/wait`, { body: { match, timeoutSeconds } });
      const asked = [
        api('GET', `${path}/messages?limit=200`),
        api('GET', `${path}/messages?q=a&wait=0`),
        api('GET', `${path}/messages/${message}`),
        api('GET', `${path}/messages/${message}/timeline`),
        // Mail of an inbox that was emptied is no match, and the inbox waits for more.
        wait({ from: 'a@example.com' }, after === 200 ? 5 : 60),
        api('GET', `/v1/messages?q=nothing`),
      ];
      const never = wait({ subject: 'never sent' }, after === 200 ? 1 : 60);
      const ended = path + ending.replace('MESSAGE', message);
      expect((await servers.first().api(method, ended)).status).toBeLessThan(300);
      for (const { status } of await Promise.all(asked)) expect([200, 404, 410]).toContain(status);
      const list = await api('GET', `${path}/messages`);
      const one = await api('GET', `${path}/messages/${message}`);
      expect([list.status, one.status]).toEqual([after, after === 200 ? 404 : after]);
      if (after === 200) expect(list.body.messages.map(({ id }: Body) => id)).not.toContain(message);
      expect((await never).status).toBe(after);
    },
  );

  it.each(inForm<string[]>([], ['']))(
    'and that drops its oldest message, shows the others complete%s',
    async () => {
      const { api } = servers.last();
      const to = 'nobody@mayfly.test';
      const { inboxes } = (await api('GET', '/v1/inboxes?limit=200')).body;
      const sink = inboxes.find(({ eviction }: Body) => eviction === 'oldest');
      await sendBombs(to);
      const message = await messageIdIn(servers.query, sink.id);
      const asked = api('GET', `/v1/inboxes/${sink.id}/messages/${message}`);
      const sender = async () => {
        const client = await openSender(port());
        for (let n = 0; n < SINK / SENDERS; n++)
          expect(await send(client, to, wholeMail('newer'))).toMatch(/^250 /);
        client.close();
      };
      await Promise.all(Array.from({ length: SENDERS }, sender));
      const { body } = await api('GET', `/v1/inboxes/${sink.id}/messages?limit=200`);
      for (const row of body.messages) expect(row).toMatchObject(summaryOf('newer'));
      expect([200, 404]).toContain((await asked).status);
      expect((await api('GET', `/v1/inboxes/${sink.id}/messages/${message}`)).status).toBe(404);
    },
    timeLimit(600_000),
  );

  it('leaves no row once all inboxes have ended', async () => {
    const { api } = servers.first();
    const { inboxes } = (await api('GET', '/v1/inboxes?limit=200')).body;
    for (const { id, eviction } of inboxes)
      await api('DELETE', `/v1/inboxes/${id}${eviction === 'oldest' ? '/messages' : ''}`);
    await servers.restart();
    await expect.poll(() => mailRows(servers)).toEqual({});
  });
});

const names = await startNameServer({ 'held.test': 'silent' });
afterAll(() => names.close());

describe('a mail whose sender is being checked', () => {
  describeOnEngines('by a name server that does not answer', (engine) => {
    const servers = useReadingServers(engine, {
      MAYFLY_DNS_SERVERS: names.address,
      MAYFLY_SMTP_PROXY_FROM: '127.0.0.1/32',
    });

    it('is shown with the outcome, which stays', async () => {
      names.zone['held.test'] = 'silent';
      const inbox = await servers.first().createInbox();
      const client = await smtpClient(servers.first().smtp.port);
      await client.play([
        'PROXY TCP4 198.51.100.7 192.0.2.1 40000 25 → 220',
        'EHLO mx.held.test → 250',
        'MAIL FROM:<a@held.test> → 250',
        `RCPT TO:<${inbox.address}> → 250`,
        'DATA → 354',
      ]);
      await client.play([`${wholeMail('checked')}. → 250`]);
      const { api } = servers.last();
      const first = (await api('GET', `/v1/inboxes/${inbox.id}/messages`)).body.messages;
      expect(first).toMatchObject([summaryOf('checked')]);
      const path = `/v1/inboxes/${inbox.id}/messages/${first[0].id}`;
      const shown = (await api('GET', path, { as: TEST_KEY })).body;
      expect(shown.authentication).toMatchObject({ spf: 'temperror' });
      names.zone['held.test'] = { TXT: ['v=spf1 ip4:198.51.100.0/24 -all'] };
      for (const app of servers.apps) {
        const { authentication } = (await app.api('GET', path)).body;
        expect(authentication).toEqual(shown.authentication);
      }
      client.close();
    });
  });
});
