/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BOMBS } from '../../hostile/bombs.ts';
import { messageIdIn, queryPostgres } from '../../reading/promises/reading-servers.ts';
import { type Place, READINGS } from '../../reading/promises/readings.ts';
import { sendOne, wholeMail } from '../../reading/promises/whole-mail.ts';
import type { Body } from '../../support/api-client.ts';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import { type HttpReceiver, startHttp } from '../../webhooks/receivers.ts';
import { MailQueue, mailsTo } from '../nodes/mail-queue.ts';
import { ENGINES, POSTGRES, useSite } from '../nodes/nodes.ts';
import { allMessages, assertTruth } from '../nodes/truth.ts';

const KILLS = inForm(1, 30);
/** Number of mails that are acknowledged before each kill. */
const MAILS = { low: 1, high: inForm(60, 200) };
const CONNECTIONS = 20;
const ENV = { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32' };
/** A mail that takes so long to parse that mail after it is unread at the kill. */
const bomb =
  BOMBS.find(({ name }) => name === 'encoded words of many charsets')?.mail(2_000_000) ?? Buffer.alloc(0);
const random = chance();

let receiver: HttpReceiver;
beforeAll(async () => {
  receiver = await startHttp();
});
afterAll(() => receiver.close());

/** Asserts that lists, searches and waits, which need parsed mail, find these mails. */
async function expectFound(server: ServerProcess, { id }: Inbox, subjects: string[]): Promise<void> {
  const { api } = server;
  const asked = subjects.map(async (subject) => {
    const [list, search, account, wait] = await Promise.all([
      api('GET', `/v1/inboxes/${id}/messages?subject=${subject}`),
      api('GET', `/v1/inboxes/${id}/messages?q=text:"${subject} 0"`),
      api('GET', `/v1/messages?text=${subject}`),
      api('POST', `/v1/inboxes/${id}/wait`, { body: { match: { subject }, timeoutSeconds: 30 } }),
    ]);
    const row = {
      subject,
      from: { address: 'sender@ledger.example' },
      preview: expect.stringContaining(subject),
    };
    // A mail that was sent again may be stored twice.
    for (const { body } of [list, search, account, wait]) {
      expect(body.messages.length).toBeGreaterThan(0);
      for (const message of body.messages) expect(message).toMatchObject(row);
    }
  });
  await Promise.all(asked);
}

describe.each(ENGINES)(
  `${KILLS} kills between the 250 and the reading, on $engine (seed ${random.seed})`,
  ({ engine, count }) => {
    const site = useSite(count, { engine, env: ENV });

    test(
      'lose no acknowledged mail; lists, searches, waits and webhooks have all of it on a node that goes on',
      async ({ annotate }) => {
        const body = { ttlMinutes: 600, webhookUrl: `http://127.0.0.1:${receiver.port}/hook` };
        const inbox: Inbox = (await site().node(0).api('POST', '/v1/inboxes', { body })).body;
        const other = await site().node(0).createInbox();
        const next = mailsTo([inbox], random);
        const acknowledged: MailQueue['acknowledged'] = new Map();
        let bombs = 0;
        for (let kill = 0; kill < KILLS; kill++) {
          const place = kill % count;
          const sent = sendOne(site().node(place).smtpPort, other.address, bomb).catch(() => '');
          const queue = new MailQueue(site(), next, CONNECTIONS);
          await queue.untilMore(random.between(MAILS.low, MAILS.high));
          await pause(random.between(0, 10));
          await site().node(place).end('SIGKILL');
          const drained = queue.drained();
          const newest = [...queue.acknowledged.keys()].slice(-10);
          if ((await sent).startsWith('250')) bombs++;
          if (count === 1) await site().startNode({}, place);
          await expectFound(site().node(place + 1), inbox, newest);
          if (count > 1) await site().startNode({}, place);
          await drained;
          expect(queue.permanent).toEqual([]);
          for (const [id, mail] of queue.acknowledged) acknowledged.set(id, mail);
        }
        const server = site().node(0);
        const { repeated } = await assertTruth(server, [inbox], { acknowledged, permanent: [] });
        const messages = await allMessages(server, other);
        expect(messages.length).toBeGreaterThanOrEqual(bombs);
        for (const message of messages) expect(message).toMatchObject({ from: { address: 'a@example.com' } });
        const hooked = () => {
          const events = receiver.requests.map(({ body: hook }): Body => JSON.parse(hook.toString()));
          return events
            .filter(({ data }) => data.inbox.id === inbox.id)
            .map(({ data }) => data.message.subject);
        };
        const missing = () => {
          const subjects = new Set(hooked());
          return [...acknowledged.keys()].filter((id) => !subjects.has(id));
        };
        await expect.poll(missing, { timeout: 90_000 }).toEqual([]);
        await annotate(`${KILLS} kills: ${acknowledged.size} acknowledged, 0 lost, ${repeated} repeated`);
      },
      timeLimit(1_200_000),
    );
  },
);

describe.skipIf(!POSTGRES)(`of two nodes on PostgreSQL, ${KILLS} times (seed ${random.seed})`, () => {
  const site = useSite(2, { env: ENV });
  const node = (n: number) => site().node(n);

  test(
    'the one that is left serves all that the killed one acknowledged, by every operation, held ones too',
    async () => {
      let last = 0;
      const query = (text: string) => queryPostgres(site().url, text);
      for (let kill = 0; kill < KILLS; kill++) {
        const [killed, left] = [kill % 2, 1 - (kill % 2)];
        const { api } = node(left);
        const looks: Promise<void>[] = [];
        const later: (() => Promise<void>)[] = [];
        const sent: Promise<string>[] = [];
        const busy = await node(killed).createInbox();
        const bombs = [sendOne(node(killed).smtpPort, busy.address, bomb).catch(() => '')];
        const places = READINGS.filter(({ operation }) => operation !== 'injectMessage').map(
          async (reading) => {
            const mail = `mail-${++last}`;
            const body = { labels: { mail }, webhookUrl: `http://127.0.0.1:${receiver.port}/hook` };
            const place: Place = {
              ...{ url: node(left).url, key: node(left).key, api, mail },
              inbox: (await api('POST', '/v1/inboxes', { body })).body,
              accountCursor: (await api('GET', '/v1/messages?limit=1')).body.cursor,
              messageId: () => messageIdIn(query, place.inbox.id),
              hooked: () => receiver.requests.map(({ body: hook }): Body => JSON.parse(hook.toString())),
            };
            return { reading, place };
          },
        );
        for (const { reading, place } of await Promise.all(places)) {
          if (reading.isHeld) looks.push(reading.look(place));
          else later.push(() => reading.look(place));
          sent.push(sendOne(node(killed).smtpPort, place.inbox.address, wholeMail(place.mail)));
        }
        const settled = Promise.all(looks);
        // Its failure is awaited below.
        settled.catch(() => undefined);
        for (const reply of await Promise.all(sent)) expect(reply).toMatch(/^250 /);
        await node(killed).end('SIGKILL');
        await Promise.all(later.map((look) => look()));
        await settled;
        await Promise.all(bombs);
        await site().startNode({}, killed);
      }
    },
    timeLimit(1_200_000),
  );
});
