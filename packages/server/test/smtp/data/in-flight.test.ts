import { expect, test } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { clientOfTest, smtpOfTest, turns, upToData } from '../start-smtp.ts';

const MIB = 1024 * 1024;
const SENDERS = 12;
const line = `${'x'.repeat(998)}\r\n`;
const mail = line.repeat(Math.ceil(MIB / line.length));

test('many large mails at once share a bounded memory, and a sender that we keep waiting is neither slow nor idle', async () => {
  const clock = new FakeClock();
  // Twelve senders of a mebibyte each before a budget of three.
  const smtp = await smtpOfTest({ maxMessageBytes: 2 * MIB, inFlightBytes: 3 * MIB }, clock);
  const release: (() => void)[] = [];
  let open = false;
  // The first mails are long in storing, so their bytes stay in flight and the others have to wait.
  smtp.receiver.beforeTake = () => new Promise((done) => (open ? done() : release.push(done)));
  const clients = await Promise.all(Array.from({ length: SENDERS }, () => clientOfTest(smtp.port)));
  for (const client of clients) await client.play([...upToData, 'DATA → 354']);
  const answers = clients.map((client) => client.play([{ send: Buffer.from(`${mail}.\r\n`), expect: 250 }]));
  await expect.poll(() => release.length).toBeGreaterThan(0);
  // Until nothing moves any more: fewer mails are in storing than were sent.
  await turns(200);
  expect(release.length).toBeLessThan(SENDERS);
  await clock.advance(20 * 60_000);
  open = true;
  for (const resolve of release) resolve();
  await Promise.all(answers);
  const sizes = smtp.receiver.mails.map(({ bytes }) => bytes.length);
  expect(sizes).toEqual(Array.from({ length: SENDERS }, () => mail.length));
});
