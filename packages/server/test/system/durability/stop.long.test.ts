import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { smtpClient } from '../../support/smtp-script.ts';
import { MailQueue, mailsTo, NO_REPLY } from '../nodes/mail-queue.ts';
import { ENGINES, MANY_MESSAGES, useSite } from '../nodes/nodes.ts';
import { assertTruth } from '../nodes/truth.ts';

const STOPS = inForm(2, 50);
const CONNECTIONS = 10;
const WAITS = 3;
const LIMIT = { timeout: timeLimit(900_000) };

const random = chance();

describe.each(ENGINES)(`SIGTERM under load on $engine (seed ${random.seed})`, LIMIT, ({ engine, count }) => {
  const site = useSite(count, { engine, env: MANY_MESSAGES });

  test('ends every SMTP dialogue with a reply, answers every held wait at once and loses nothing', async () => {
    const [quiet, ...inboxes] = await site().createInboxes(3);
    const queue = new MailQueue(site(), mailsTo(inboxes, random), CONNECTIONS);
    for (let stop = 0; stop < STOPS; stop++) {
      const place = stop % count;
      const { smtpPort, api, end } = site().node(place);
      const idle = await smtpClient(smtpPort);
      await idle.play(['→ 220', 'EHLO idle.example → 250']);
      const path = `/v1/inboxes/${quiet?.id}/messages?wait=60&since=${quiet?.cursor}`;
      const waits = Array.from({ length: WAITS }, () => api('GET', path));
      await queue.untilMore(random.between(40, 120));
      await pause(random.between(0, 30));

      expect(await end('SIGTERM')).toMatchObject({ code: 0 });
      expect(await idle.closed()).toMatch(/^421 4\.3\.2 /);
      // With 200 the stop would have waited for the timeout of the wait.
      for (const wait of waits) {
        const answer = await wait;
        expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
        expect(answer.body).toMatchObject({ code: 'server_stopping' });
      }
      // Other nodes take mail meanwhile.
      if (count > 1) await queue.untilMore(5);
      await site().startNode({}, place);
    }
    await queue.drained();
    expect(queue.replies.get(NO_REPLY), 'final dots without a reply').toBeUndefined();
    // The last reply of a node that stops is 421 (RFC 5321 section 3.8).
    for (const reply of queue.replies.keys()) expect(reply).toMatch(/^(421|451|closed|no connection)$/);
    const { repeated } = await assertTruth(site().node(0), inboxes, queue);
    expect(repeated).toBe(0);
  });
});
