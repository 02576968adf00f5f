import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { bombOf } from '../../hostile/bombs.ts';
import type { Body } from '../../support/api-client.ts';
import { openStream } from '../../support/event-stream.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { describeOnEngines } from '../../support/nodes.ts';
import { TEST_KEY } from '../../support/start-app.ts';
import { useReadingServers } from './reading-servers.ts';
import { type Place, READINGS, type Reading, SHOW_NO_MAIL } from './readings.ts';
import { openSender, send, sendOne, summaryOf, wholeMail } from './whole-mail.ts';

const SENDERS = inForm(2, 10);
/** Mails of each sender, for each operation. */
const ROUNDS = inForm(1, 50);
/** Mails of each sender of the burst. */
const BURST = inForm(8, 400);
const LARGE_BYTES = inForm(2_000_000, 12_000_000);
/** At which buffers begin to be freed and given away, instead of copied. */
const GIVEN_AWAY = 256 * 1024;
/** Bytes of the first mails of each sender: around that limit as far as our Received line reaches, small and large. */
const SIZES = [0, ...[200, 400, 600, 300].map((less) => GIVEN_AWAY - less), 900_000, 2_000, 1_500_000];
/** @param size with lines behind its last part, up to so many bytes */
const mailOf = (id: string, size: number) => wholeMail(id).padEnd(size, 'epilogue\r\n');

it('every operation of the API either shows mail, and has a row here, or shows none', () => {
  const document = readFileSync(new URL('../../../../../openapi.json', import.meta.url), 'utf8');
  const { paths }: Body = JSON.parse(document);
  const operations = Object.values<Body>(paths).flatMap((path) => Object.values<Body>(path));
  const known = [...SHOW_NO_MAIL, ...READINGS.map(({ operation }) => operation)];
  expect(operations.map(({ operationId }) => operationId).toSorted()).toEqual([...new Set(known)].toSorted());
});

let lastMail = 0;

describeOnEngines('right after its 250, seen from any server', (engine) => {
  const servers = useReadingServers(engine);

  /** Sends a mail into an inbox of its own and looks at once, by one operation and no other before it. */
  async function sendAndLook({ operation, look, isHeld }: Reading, as = TEST_KEY): Promise<void> {
    const place = await servers.newPlace(`mail-${++lastMail}`, as);
    const isBegun = isHeld === true && lastMail % 2 === 0;
    const begun = isBegun ? look(place) : undefined;
    // Its failure is awaited below.
    begun?.catch(() => undefined);
    if (operation !== 'injectMessage') {
      const { port } = servers.first().smtp;
      expect(await sendOne(port, place.inbox.address, wholeMail(place.mail))).toMatch(/^250 /);
    }
    await (begun ?? look(place));
  }

  it.each([...READINGS])(
    'a mail is complete in $operation: $name',
    async (reading) => {
      const one = async () => {
        for (let round = 0; round < ROUNDS; round++) await sendAndLook(reading);
      };
      await Promise.all(Array.from({ length: SENDERS }, one));
    },
    timeLimit(600_000),
  );

  it(
    'a mail is complete in all of them while large mails of another account are being read',
    async () => {
      const { body } = await servers.first().api('POST', '/v1/inboxes');
      const large = bombOf('encoded words of many charsets', LARGE_BYTES);
      const sent = inForm([1, 2], [1, 2, 3, 4]).map(() =>
        sendOne(servers.first().smtp.port, body.address, large),
      );
      const key = await servers.first().newAccount();
      await Promise.all(READINGS.map((reading) => sendAndLook(reading, key)));
      for (const reply of await Promise.all(sent)) expect(reply).toMatch(/^250 /);
    },
    timeLimit(600_000),
  );

  it(
    'no follower misses a mail of a burst, and none sees a row that is not complete',
    async () => {
      const place = await servers.newPlace('burst');
      const { inbox } = place;
      const total = SENDERS * BURST;
      const path = `/v1/inboxes/${inbox.id}/messages`;
      const followers = servers.apps.flatMap(({ url, api }) => [
        follow({ ...place, url, api }, path, inbox.cursor, total),
        follow({ ...place, url, api }, '/v1/messages', place.accountCursor, total),
      ]);
      const sender = async (of: number) => {
        const client = await openSender(servers.first().smtp.port);
        for (let n = 0; n < BURST; n++) {
          const mail = `burst-${of}-${n}`;
          expect(await send(client, inbox.address, mailOf(mail, SIZES[n] ?? 0))).toMatch(/^250 /);
          const query = [`subject=${mail}`, `text=${mail}`, `q=${mail}`, 'limit=200'][n % 4];
          const { body } = await place.api('GET', `${path}?${query}`);
          const rows = body.messages.filter(({ subject }: Body) => subject === mail);
          expect(rows).toMatchObject([summaryOf(mail)]);
        }
        client.close();
      };
      const sent = Promise.all(Array.from({ length: SENDERS }, (_, of) => sender(of)));
      const [seen, ...others] = await Promise.all([...followers, streamed(place, total)]);
      await sent;
      expect(new Set(seen).size).toBe(total);
      for (const other of others) expect(other).toEqual(seen);
    },
    timeLimit(600_000),
  );
});

/** @returns the ids in their order, of the inbox; throws for a row that is not complete */
function idsOf(messages: Body[], { inbox }: Place): string[] {
  const own = messages.filter(({ inboxId }) => inboxId === inbox.id);
  for (const row of own) expect(row).toMatchObject(summaryOf(row.subject || 'a subject'));
  return own.map(({ id }) => id);
}

/** Polls by the cursor of the page before until so many messages were seen, each page to its end. */
async function follow(place: Place, path: string, begin: string, total: number): Promise<string[]> {
  const seen: string[] = [];
  for (let since = begin; seen.length < total; ) {
    const found: string[] = [];
    let page = (await place.api('GET', `${path}?since=${since}&limit=20&wait=20`)).body;
    const { cursor } = page;
    for (;;) {
      found.push(...idsOf(page.messages, place));
      if (!page.hasMore) break;
      const before = page.before ?? page.messages.at(-1).id;
      page = (await place.api('GET', `${path}?since=${since}&limit=20&before=${before}`)).body;
    }
    seen.push(...found.reverse());
    since = cursor;
  }
  return seen;
}

async function streamed(place: Place, total: number): Promise<string[]> {
  const url = `${place.url}/v1/inboxes/${place.inbox.id}/events?since=${place.inbox.cursor}`;
  const reader = await openStream(url, { as: place.key });
  const seen: string[] = [];
  while (seen.length < total) {
    const { data } = (await reader.nextEvent()) ?? {};
    if (data === undefined) throw new Error('The stream ended before the burst.');
    seen.push(...idsOf([{ inboxId: place.inbox.id, ...data.message }], place));
  }
  reader.close();
  return seen;
}
