import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ByteBudget, readMessage } from '../../src/inbound/incoming-mail.ts';
import { clientOfTest, smtpOfTest, turns, upToData } from '../smtp/start-smtp.ts';
import { FakeClock } from '../support/fake-clock.ts';
import type { SmtpClient } from '../support/smtp-script.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
const lines = (bytes: number) => Buffer.from(`${'x'.repeat(998)}\r\n`.repeat(Math.ceil(bytes / 1_000)));

/** A client that has begun a message. */
async function begin(port: number, localAddress = '127.0.0.1'): Promise<SmtpClient> {
  const client = await clientOfTest(port, { localAddress });
  await client.play([...upToData, 'DATA → 354']);
  return client;
}

/** Writes as much as the server takes now. */
const press = (client: SmtpClient, bytes: number) => void client.socket.write(lines(bytes));

describe('senders that hold memory and send no more', () => {
  it('do not delay a small mail, though four of them have sent 15.6 MB each', async () => {
    const smtp = await smtpOfTest();
    for (let i = 0; i < 4; i++) press(await begin(smtp.port, '127.0.0.2'), 15.6 * MIB);
    await turns(500);
    const honest = await begin(smtp.port);
    await honest.play([`${'x'.repeat(900)}\r\n. → 250`]);
  });

  it('do not delay a small mail from their own address either', async () => {
    const smtp = await smtpOfTest();
    for (let i = 0; i < 20; i++) press(await begin(smtp.port), 4 * MIB);
    await turns(500);
    const honest = await begin(smtp.port);
    await honest.play([{ send: lines(60 * KIB) }, '. → 250']);
  });

  it('are closed with 421 when a large mail waits for their memory, which is then stored', async () => {
    const clock = new FakeClock();
    const smtp = await smtpOfTest({}, clock);
    const slow: SmtpClient[] = [];
    for (let i = 0; i < 50; i++) slow.push(await begin(smtp.port, `127.0.0.${2 + (i % 5)}`));
    for (const client of slow) press(client, 2 * MIB);
    await turns(500);
    const honest = await begin(smtp.port);
    press(honest, 20 * MIB);
    const stored = honest.play(['. → 250']);
    // They may take turns at the reserved memory, a few seconds each.
    for (let i = 0; i < 200 && smtp.receiver.mails.length === 0; i++) {
      await turns(20);
      await clock.advance(1_000);
    }
    await stored;
    expect(smtp.receiver.mails).toHaveLength(1);
    const closed = slow.filter(({ socket }) => socket.readableEnded || socket.destroyed);
    expect(closed.length).toBeGreaterThan(0);
    expect(await closed[0]?.closed()).toMatch(/^421 4\.4\.2 .*(slow).*\r\n$/i);
  });

  it('keep their session while nobody waits for memory', async () => {
    const clock = new FakeClock();
    const smtp = await smtpOfTest({}, clock);
    const alone = await begin(smtp.port);
    press(alone, 2 * MIB);
    await turns(100);
    await clock.advance(50_000);
    await alone.play(['. → 250']);
  });
});

it('a source address with many large mails leaves memory for a mail of one mebibyte from another', async () => {
  const smtp = await smtpOfTest();
  // None of them ends, so no memory is released; all but one have to wait.
  for (let i = 0; i < 12; i++) press(await begin(smtp.port, '127.0.0.2'), 10 * MIB);
  await turns(500);
  const other = await begin(smtp.port, '127.0.0.3');
  press(other, MIB);
  await other.play(['. → 250']);
});

it('an upload over HTTP that is too slow ends as unavailable when an SMTP mail waits for its memory', async () => {
  const clock = new FakeClock();
  const budget = new ByteBudget({ capacity: 64 * MIB, largest: 50 * MIB, clock });
  const stream = new Readable({ read: () => undefined });
  const upload = readMessage(stream, { maxBytes: 50 * MIB, budget, source: '192.0.2.1' });
  const refused = expect(upload).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('too slowly'),
  });
  stream.push(Buffer.alloc(20 * MIB));
  await turns(5);
  const share = budget.open('192.0.2.2', () => undefined);
  const granted = budget.take(share, 20 * MIB);
  expect(granted).toBeInstanceOf(Promise);
  await clock.advance(10_000);
  await refused;
  await granted;
  // The stream stays open for the answer.
  expect(stream.destroyed).toBe(false);
  stream.destroy();
});
