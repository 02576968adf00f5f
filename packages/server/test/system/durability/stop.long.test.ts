import { afterAll, describe, expect, test } from 'vitest';
import { chance } from '../../support/chance.ts';
import { useFolder } from '../../support/folder.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { type Inbox, type ServerProcess, startServer } from '../../support/server-process.ts';
import { smtpClient } from '../../support/smtp-script.ts';
import { Ledger, Sender } from './ledger.ts';
import { assertNothingLost } from './readback.ts';

const STOPS = inForm(2, 50);
const CONNECTIONS = 10;
const WAITS = 3;

const random = chance();
const dataDir = useFolder();
const ledger = new Ledger();
let server: ServerProcess | undefined;

afterAll(() => server?.end('SIGKILL'));

let lastMail = 0;
const mailTo = (inbox: Inbox) => () => ({
  id: `mail-${random.seed}-${++lastMail}`,
  to: [inbox.address],
});

describe(`${STOPS} times SIGTERM under load (seed ${random.seed})`, () => {
  test(
    'ends every SMTP dialogue with a reply, answers every held wait at once and loses nothing',
    async ({ annotate }) => {
      server = await startServer({ dataDir: dataDir() });
      const [busy, quiet] = [await server.createInbox(), await server.createInbox()];
      const times: number[] = [];
      for (let stop = 1; stop <= STOPS; stop++) {
        const { smtpPort, request } = server;
        const senders = Array.from({ length: CONNECTIONS }, () => new Sender(smtpPort, ledger, mailTo(busy)));
        const idle = await smtpClient(smtpPort);
        await idle.play(['→ 220', 'EHLO idle.example → 250']);
        const waits = Array.from({ length: WAITS }, () =>
          request('GET', `/v1/inboxes/${quiet.id}/messages?wait=60&since=${quiet.cursor}`),
        );
        await ledger.untilAcknowledged(ledger.acknowledged.size + random.between(40, 120));
        while (senders.some(({ sent }) => sent.length === 0)) {
          await ledger.untilAcknowledged(ledger.acknowledged.size + 1);
        }

        const { code, ms } = await server.end('SIGTERM');
        expect(code).toBe(0);
        times.push(Math.round(ms));
        for (const { ended } of senders) expect(await ended).toMatch(/^421 4\.3\.2 /);
        expect(await idle.closed()).toMatch(/^421 4\.3\.2 /);
        expect([...ledger.unanswered.keys()]).toEqual([]);
        for (const reply of ledger.refused.values()) expect(reply).toMatch(/^4\d\d /);
        // A stop that waited for the held waits would let them end by themselves, with 200.
        for (const wait of waits) {
          const answer = await wait;
          expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
          expect(await answer.json()).toMatchObject({ code: 'server_stopping' });
        }
        server = await startServer({ dataDir: dataDir() });
      }
      const { acknowledged, extra } = await assertNothingLost(server, [busy, quiet], ledger);
      expect(extra).toBe(0);
      await annotate(
        `${STOPS} stops: ${acknowledged} acknowledged, 0 lost; exits after ${times.join(', ')} ms`,
      );
    },
    timeLimit(900_000),
  );
});
