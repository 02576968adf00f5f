import { expect, test } from 'vitest';
import { FakeClock } from '../../support/fake-clock.ts';
import { clientOfTest, connectedOfTest, hello, inData, smtpOfTest, turns, upToData } from '../start-smtp.ts';

/*
 * What one client may make the server keep: what is read ahead, what is written, what comes after the end.
 */

test('all replies to what one segment brought are written at once, those of recipients too', async () => {
  const { client } = await connectedOfTest();
  await client.play(hello);
  let writes = 0;
  client.socket.on('data', () => writes++);
  const names = ['a', 'nobody', 'b', 'inbox1'];
  const recipients = names.map((name) => `RCPT TO:<${name}@mayfly.test>\r\n`).join('');
  const send = Buffer.from(`MAIL FROM:<s@example.com>\r\n${recipients}DATA\r\n`);
  await client.play([{ send, expect: [250, 250, 550, 250, 250, 354] }]);
  expect(writes).toBe(1);
});

test('a reply does not wait for the answer to a later command', async () => {
  const { smtp, client } = await connectedOfTest();
  const storing = smtp.receiver.holdStoring();
  await client.play([
    ...upToData,
    { send: Buffer.from('RCPT TO:<b@mayfly.test>\r\nDATA\r\nx\r\n.\r\nNOOP\r\n'), expect: [250, 354] },
  ]);
  await storing.begun;
  storing.goOn();
  await client.play([{ expect: ['250 2.0.0 Message', '250 2.0.0 OK'] }]);
});

test('commands behind one that waits for its answer are not read ahead', async () => {
  const { smtp, client } = await connectedOfTest();
  const storing = smtp.receiver.holdStoring();
  await client.play([...inData, { send: 'x\r\n.' }]);
  await storing.begun;
  const flood = Buffer.from('NOOP\r\n'.repeat(10_000));
  for (let i = 0; i < 1000; i++) client.socket.write(flood);
  let taken = 0;
  for (let before = -1; taken !== before; ) {
    before = taken;
    await turns(100);
    taken = client.socket.bytesWritten - client.socket.writableLength;
  }
  // The system's own buffers take some megabytes of the sixty.
  expect(taken).toBeLessThan(20_000_000);
  storing.goOn();
  await client.play([{ expect: [250, ...Array.from({ length: 1000 }, () => '250 2.0.0 OK'), '421 4.7.0'] }]);
});

test('many large mails at once share a bounded memory, and a sender that we keep waiting is neither slow nor idle', async () => {
  const MIB = 1024 * 1024;
  const SENDERS = 12;
  const mail = `${'x'.repeat(998)}\r\n`.repeat(Math.ceil(MIB / 1000));
  const clock = new FakeClock();
  // Twelve senders of a mebibyte each before a budget of three.
  const smtp = await smtpOfTest({ maxMessageBytes: 2 * MIB, inFlightBytes: 3 * MIB }, clock);
  const release: (() => void)[] = [];
  let open = false;
  // The first mails are long in storing, so their bytes stay in flight and the others have to wait.
  smtp.receiver.beforeTake = () => new Promise((done) => (open ? done() : release.push(done)));
  const clients = await Promise.all(Array.from({ length: SENDERS }, () => clientOfTest(smtp.port)));
  for (const client of clients) await client.play(inData);
  const answers = clients.map((client) => client.play([{ send: Buffer.from(`${mail}.\r\n`), expect: 250 }]));
  await expect.poll(() => release.length).toBeGreaterThan(0);
  // Until nothing moves any more: fewer mails are in storing than were sent.
  await turns(200);
  expect(release.length).toBeLessThan(SENDERS);
  await clock.advance(20 * 60_000);
  open = true;
  for (const resolve of release) resolve();
  await Promise.all(answers);
  expect(smtp.receiver.mails.map(({ bytes }) => bytes.length)).toEqual(Array(SENDERS).fill(mail.length));
});
