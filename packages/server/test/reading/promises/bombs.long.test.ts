import { describe, expect, it } from 'vitest';
import { bombOf } from '../../hostile/bombs.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { describeOnEngines } from '../../support/nodes.ts';
import { TEST_KEY } from '../../support/start-app.ts';
import { messageIdIn, useReadingServers } from './reading-servers.ts';
import { READINGS } from './readings.ts';
import { sendOne, wholeMail } from './whole-mail.ts';

/** A mail that takes much longer to read than to store. */
const bomb = bombOf('encoded words of many charsets', 2_000_000);
/** Of one inbox: seconds of work, so that their reading goes on while other mail is sent and read. */
const TOGETHER = 8;
/** An account that sends so many bytes faster than they can be read has reached any bound. */
const ENOUGH = 500;

describeOnEngines('while bombs are being read', (engine) => {
  const servers = useReadingServers(engine);
  const smtpPort = () => servers.first().smtp.port;

  /** Bombs in an inbox, acknowledged; `listed` resolves when they can be read. */
  async function begin(events: string[]): Promise<{ id: string; listed: Promise<void> }> {
    const inbox = await servers.first().createInbox();
    const sent = Array.from({ length: TOGETHER }, () => sendOne(smtpPort(), inbox.address, bomb));
    for (const reply of await Promise.all(sent)) expect(reply).toMatch(/^250 /);
    events.push('250 of the bombs');
    const list = async () => {
      const { status, body } = await servers.last().api('GET', `/v1/inboxes/${inbox.id}/messages`);
      expect([status, body.messages.length]).toEqual([200, TOGETHER]);
      events.push('bombs listed');
    };
    return { id: inbox.id, listed: list() };
  }

  it('mail to other inboxes, of the same account and of another, gets its 250 and is complete before', async () => {
    const other = await servers.first().newAccount();
    const keys = [TEST_KEY, TEST_KEY, other, other];
    const places = await Promise.all(keys.map((key, n) => servers.newPlace(`small-${n}`, key)));
    const events: string[] = [];
    const { listed } = await begin(events);
    for (const place of places) {
      expect(await sendOne(smtpPort(), place.inbox.address, wholeMail(place.mail))).toMatch(/^250 /);
      events.push('250');
      const own = READINGS.filter(({ operation }) => ['listMessages', 'waitForMessages'].includes(operation));
      for (const { look } of own.slice(0, 3)) await look(place);
      events.push('complete');
    }
    await listed;
    const small = places.flatMap(() => ['250', 'complete']);
    expect(events).toEqual(['250 of the bombs', ...small, 'bombs listed']);
  });

  it('counts and sources of them wait for no reading', async () => {
    const { id, listed } = await begin([]);
    const { api } = servers.last();
    const message = await messageIdIn(servers.query, id);
    const readings = () =>
      servers.query(`select r.source_seq from readings r join messages m on m.source_seq = r.source_seq
        where m.id = '${message}'`);
    expect((await api('GET', `/v1/inboxes/${id}`)).body.messageCount).toBe(TOGETHER);
    expect(await readings(), 'before its count').toEqual([]);
    const raw = await api('GET', `/v1/inboxes/${id}/messages/${message}/raw`);
    expect(await readings(), 'before its source').toEqual([]);
    expect(Buffer.from(raw.bytes).includes(bomb)).toBe(true);
    await listed;
    expect((await api('GET', `/v1/inboxes/${id}/export`)).status).toBe(200);
  });

  it('a mail of 600 KB to another account is complete before the largest one is', async () => {
    const place = await servers.newPlace('medium', await servers.first().newAccount());
    const { id, address } = await servers.first().createInbox();
    const { api } = servers.last();
    const events: string[] = [];
    expect(await sendOne(smtpPort(), address, bombOf('a mail of no header', 48_000_000))).toMatch(/^250 /);
    const listed = api('GET', `/v1/inboxes/${id}/messages`).then(() => events.push('bomb listed'));
    const medium = `${wholeMail(place.mail)}${'epilogue\r\n'.repeat(60_000)}`;
    expect(await sendOne(smtpPort(), place.inbox.address, medium)).toMatch(/^250 /);
    await READINGS.find(({ operation }) => operation === 'listMessages')?.look(place);
    events.push('complete');
    await listed;
    expect(events).toEqual(['complete', 'bomb listed']);
  });

  it('a mail that exceeds the limits of reading is listed, says so, and has its source', async () => {
    const mail = bombOf('encoded words of many charsets', 3_000_000);
    const { id, address } = await servers.first().createInbox();
    expect(await sendOne(smtpPort(), address, mail)).toMatch(/^250 /);
    const { api } = servers.last();
    const { body } = await api('GET', `/v1/inboxes/${id}/messages`);
    const path = `/v1/inboxes/${id}/messages/${body.messages[0]?.id}`;
    expect((await api('GET', path)).body).toMatchObject({
      ...{ from: { address: 'a@example.com' }, subject: expect.stringMatching(/./) },
      parseError: expect.stringMatching(/./),
    });
    expect(Buffer.from((await api('GET', `${path}/raw`)).bytes).includes(mail)).toBe(true);
  });
});

describe.each(inForm<string[]>([], ['']))('an account that sends faster than its mail can be read%s', () => {
  describeOnEngines('gets 451', (engine) => {
    const servers = useReadingServers(engine);
    it(
      'and no other account does; once its mail is read, it gets 250 again',
      async () => {
        const { port } = servers.first().smtp;
        const { address } = await servers.first().createInbox();
        const place = await servers.newPlace('other', await servers.first().newAccount());
        const replies: string[] = [];
        while (replies.length < ENOUGH && !replies.at(-1)?.startsWith('451'))
          replies.push(await sendOne(port, address, bomb));
        expect(replies.at(-1)).toMatch(/^451 4\./);
        expect(await sendOne(port, place.inbox.address, wholeMail(place.mail))).toMatch(/^250 /);
        for (const { look } of READINGS.filter(({ operation }) => operation === 'listMessages'))
          await look(place);
        await expect.poll(() => sendOne(port, address, wholeMail('later'))).toMatch(/^250 /);
      },
      timeLimit(900_000),
    );
  });
});
