import { expect, it } from 'vitest';
import type { Body } from '../../support/api-client.ts';
import { describeOnEngines } from '../../support/nodes.ts';
import { useReadingServers } from './reading-servers.ts';
import { openSender, send } from './whole-mail.ts';

/** Bytes at which buffers begin to be freed and given away, instead of copied. */
const LARGE_BYTES = 256 * 1024;
/** Around that limit as far as our Received line and the space for it reach, between small and large mails. */
const SIZES = [
  300,
  LARGE_BYTES - 200,
  LARGE_BYTES - 400,
  900_000,
  2_000,
  LARGE_BYTES - 600,
  LARGE_BYTES - 300,
  1_500_000,
];
const CONNECTIONS = 12;
const ROUNDS = 2;

const mailOf = (subject: string, size: number): string =>
  `Subject: ${subject}\r\n\r\n${`this is ${subject}\r\n`.repeat(size / 20)}`.slice(0, size);

describeOnEngines('mails of all sizes that come at the same time', (engine) => {
  const servers = useReadingServers(engine);

  it('are each shown as what they say, and as nothing of another', async () => {
    const inbox = await servers.first().createInbox();
    const sendAll = async (_: unknown, connection: number): Promise<string[]> => {
      const client = await openSender(servers.first().smtp.port);
      const subjects: string[] = [];
      for (let n = 0; n < ROUNDS * SIZES.length; n++) {
        const size = SIZES[(n + connection) % SIZES.length] ?? 0;
        subjects.push(`mail ${connection}-${n}`);
        expect(await send(client, inbox.address, mailOf(`mail ${connection}-${n}`, size))).toMatch(/^250 /);
      }
      client.close();
      return subjects;
    };
    const sent = (await Promise.all(Array.from({ length: CONNECTIONS }, sendAll))).flat();
    const path = `/v1/inboxes/${inbox.id}/messages?limit=200`;
    const { messages }: { messages: Body[] } = (await servers.last().api('GET', path)).body;
    expect(messages.map(({ subject }) => subject).sort()).toEqual(sent.sort());
    for (const { subject, preview } of messages) expect(preview).toContain(`this is ${subject} `);
  });
});
