/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bombOf } from '../../hostile/bombs.ts';
import { messageIdIn } from '../../reading/promises/reading-servers.ts';
import { type Place, READINGS } from '../../reading/promises/readings.ts';
import { sendOne, wholeMail } from '../../reading/promises/whole-mail.ts';
import type { Body } from '../../support/api-client.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { type HttpReceiver, startHttp } from '../../webhooks/receivers.ts';
import { ENGINES, useSite } from '../nodes/nodes.ts';

const KILLS = inForm(1, 30);
const LIMIT = { timeout: timeLimit(1_200_000) };
const ENV = { MAYFLY_WEBHOOK_ALLOW: '127.0.0.1/32' };
/** A mail that takes so long to parse that mail after it is unread at the kill. */
const bomb = bombOf('encoded words of many charsets', 2_000_000);

let receiver: HttpReceiver;
beforeAll(async () => {
  receiver = await startHttp();
});
afterAll(() => receiver.close());

describe.each(ENGINES)(`kills between the 250 and reading, on $engine`, LIMIT, ({ engine, count }) => {
  const site = useSite(count, { engine, env: ENV });
  const node = (n: number) => site().node(n);
  // Requests that are held end with the only node.
  const readings = READINGS.filter(
    ({ operation, isHeld }) => operation !== 'injectMessage' && (count > 1 || !isHeld),
  );

  test('lose no acknowledged mail: every operation has it on the node that goes on, held ones too', async () => {
    let last = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const [killed, left] = [kill % count, (kill + 1) % count];
      const { url, key, api } = node(left);
      const looks: Promise<void>[] = [];
      const later: (() => Promise<void>)[] = [];
      const sent: Promise<string>[] = [];
      const busy = await node(killed).createInbox();
      const bombSent = sendOne(node(killed).smtpPort, busy.address, bomb).catch(() => '');
      const places = readings.map(async (reading) => {
        const mail = `mail-${++last}`;
        const body = { labels: { mail }, webhookUrl: `http://127.0.0.1:${receiver.port}/hook` };
        const place: Place = {
          ...{ url, key, api, mail },
          inbox: (await api('POST', '/v1/inboxes', { body })).body,
          accountCursor: (await api('GET', '/v1/messages?limit=1')).body.cursor,
          messageId: () => messageIdIn(site().select, place.inbox.id),
          hooked: () => receiver.requests.map(({ body: hook }): Body => JSON.parse(hook.toString())),
        };
        return { reading, place };
      });
      for (const { reading, place } of await Promise.all(places)) {
        if (reading.isHeld) looks.push(reading.look(place));
        else later.push(() => reading.look({ ...place, url: node(left).url, api: node(left).api }));
        sent.push(sendOne(node(killed).smtpPort, place.inbox.address, wholeMail(place.mail)));
      }
      const settled = Promise.all(looks);
      // Its failure is awaited below.
      settled.catch(() => undefined);
      for (const reply of await Promise.all(sent)) expect(reply).toMatch(/^250 /);
      await node(killed).end('SIGKILL');
      if (count === 1) await site().startNode({}, killed);
      await Promise.all(later.map((look) => look()));
      await settled;
      await bombSent;
      if (count > 1) await site().startNode({}, killed);
    }
  });
});
