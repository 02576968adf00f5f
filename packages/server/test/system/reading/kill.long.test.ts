/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BOMBS } from '../../hostile/bombs.ts';
import { messageIdIn, queryPostgres } from '../../reading/promises/reading-servers.ts';
import { type Place, READINGS } from '../../reading/promises/readings.ts';
import { sendOne, wholeMail } from '../../reading/promises/whole-mail.ts';
import { apiClient, type Body } from '../../support/api-client.ts';
import { chance } from '../../support/chance.ts';
import { useFolder } from '../../support/folder.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { hasPostgres } from '../../support/postgres.ts';
import { type Inbox, type ServerProcess, startServer } from '../../support/server-process.ts';
import { type HttpReceiver, startHttp } from '../../webhooks/receivers.ts';
import { Ledger, Sender } from '../durability/ledger.ts';
import { assertNothingLost } from '../durability/readback.ts';
import { type Site, startSite } from '../nodes/nodes.ts';

const HAS_POSTGRES = await hasPostgres();
const KILLS = inForm(1, 30);
/** Mails that are acknowledged before a kill, each time. */
const MAILS = { low: 1, high: inForm(60, 200) };
const CONNECTIONS = 20;
const ENV = { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32' };
/** Reading it takes long enough for mail behind it to be unread at the kill. */
const bomb =
  BOMBS.find(({ name }) => name === 'encoded words of many charsets')?.mail(2_000_000) ?? Buffer.alloc(0);
const random = chance();

let receiver: HttpReceiver;
beforeAll(async () => {
  receiver = await startHttp();
});
afterAll(() => receiver.close());

/** The subjects that were sent to a webhook for an inbox. */
const hooked = ({ id }: Inbox): Set<string> => {
  const bodies = receiver.requests.map(({ body }): Body => JSON.parse(body.toString()));
  return new Set(bodies.filter(({ data }) => data.inbox.id === id).map(({ data }) => data.message.subject));
};

async function newInbox(server: ServerProcess): Promise<Inbox> {
  const body = { ttlMinutes: 600, webhookUrl: `http://127.0.0.1:${receiver.port}/hook` };
  return (await (await server.request('POST', '/v1/inboxes', body)).json()) as Inbox;
}

/** The newest acknowledged mails are found by each way that needs what they say. */
async function expectFound(server: ServerProcess, { id }: Inbox, subjects: string[]): Promise<void> {
  const api = apiClient(server.url, server.key);
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
    for (const { body } of [list, search, account, wait]) expect(body.messages).toMatchObject([row]);
  });
  await Promise.all(asked);
}

/** Bursts, each ended by a kill of the server that took it; `restart` gives the one that has to know all of it. */
async function killAgainAndAgain(
  server: ServerProcess,
  restart: () => Promise<ServerProcess>,
): Promise<string> {
  const ledger = new Ledger();
  const inbox = await newInbox(server);
  const other = await server.createInbox();
  let bombs = 0;
  let made = 0;
  for (let kill = 0; kill < KILLS; kill++) {
    const before = ledger.acknowledged.size;
    const { smtpPort } = server;
    // Of one length: none is a part of another.
    const next = () => ({ id: `mail-${random.seed}-${++made + 100_000}`, to: [inbox.address] });
    const sent = sendOne(smtpPort, other.address, bomb).catch(() => '');
    const senders = Array.from({ length: CONNECTIONS }, () => new Sender(smtpPort, ledger, next));
    await ledger.untilAcknowledged(before + random.between(MAILS.low, MAILS.high));
    await pause(random.between(0, 10));
    await server.end('SIGKILL');
    await Promise.all(senders.map(({ ended }) => ended));
    if ((await sent).startsWith('250')) bombs++;
    server = await restart();
    await expectFound(server, inbox, [...ledger.acknowledged.keys()].slice(-10));
  }
  const { acknowledged, extra } = await assertNothingLost(server, [inbox], ledger);
  const { messages } = await server.getJson<{ messages: Body[] }>(
    `/v1/inboxes/${other.id}/messages?limit=200`,
  );
  expect(messages.length).toBeGreaterThanOrEqual(bombs);
  for (const message of messages) expect(message.from).toMatchObject({ address: 'a@example.com' });
  await expect
    .poll(() => [...ledger.acknowledged.keys()].filter((id) => !hooked(inbox).has(id)), { timeout: 90_000 })
    .toEqual([]);
  return `${KILLS} kills: ${acknowledged} acknowledged, 0 lost, ${extra} more stored`;
}

describe(`${KILLS} kills between the 250 and the reading (seed ${random.seed})`, () => {
  const dataDir = useFolder();
  const servers: ServerProcess[] = [];
  afterAll(async () => {
    for (const server of servers) await server.end('SIGKILL');
  });

  test(
    'lose no acknowledged mail; lists, searches, waits and webhooks have all of it after the restart',
    async ({ annotate }) => {
      const start = async () => {
        const server = await startServer({ dataDir: dataDir(), env: ENV });
        servers.push(server);
        return server;
      };
      await annotate(await killAgainAndAgain(await start(), start));
    },
    timeLimit(1_200_000),
  );
});

describe.skipIf(!HAS_POSTGRES)(`of two nodes on PostgreSQL, ${KILLS} times (seed ${random.seed})`, () => {
  let site: Site;
  beforeAll(async () => {
    site = await startSite();
    for (let n = 0; n < 2; n++) await site.startNode({ env: ENV });
  });
  afterAll(() => site.close());
  const node = (n: number) => site.nodes[n] as ServerProcess;

  test(
    'the one that is left serves all that the killed one acknowledged, by every operation, held ones too',
    async () => {
      let last = 0;
      const query = (text: string) => queryPostgres(site.url, text);
      for (let kill = 0; kill < KILLS; kill++) {
        const [killed, left] = [kill % 2, 1 - (kill % 2)];
        const api = apiClient(node(left).url, node(left).key);
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
        await site.startNode({ env: ENV }, killed);
      }
    },
    timeLimit(1_200_000),
  );

  test(
    'a burst that is cut by the kill is complete on the other one',
    async ({ annotate }) => {
      let killed = 0;
      const restart = async () => {
        await site.startNode({ env: ENV }, killed);
        killed = 1 - killed;
        return node(killed);
      };
      await annotate(await killAgainAndAgain(node(killed), restart));
    },
    timeLimit(1_200_000),
  );
});
