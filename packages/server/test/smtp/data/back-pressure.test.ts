import { expect, test } from 'vitest';
import { clientOfTest, smtpOfTest, turns, upToData } from '../start-smtp.ts';

/*
 * What one client may make the server keep: what is read ahead, what is written, what comes after the end.
 */

test('all replies to what one segment brought are written at once, those of recipients too', async () => {
  const smtp = await smtpOfTest();
  const client = await clientOfTest(smtp.port);
  await client.play(['→ 220', 'EHLO c → 250']);
  let writes = 0;
  client.socket.on('data', () => writes++);
  const recipients = ['a', 'nobody', 'b', 'inbox1']
    .map((name) => `RCPT TO:<${name}@mayfly.test>\r\n`)
    .join('');
  await client.play([
    {
      send: Buffer.from(`MAIL FROM:<s@example.com>\r\n${recipients}DATA\r\n`),
      expect: [250, 250, 550, 250, 250, 354],
    },
  ]);
  expect(writes).toBe(1);
});

test('a reply does not wait for the answer to a later command', async () => {
  const smtp = await smtpOfTest();
  const client = await clientOfTest(smtp.port);
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
  const smtp = await smtpOfTest();
  const client = await clientOfTest(smtp.port);
  const storing = smtp.receiver.holdStoring();
  await client.play([...upToData, 'DATA → 354', { send: 'x\r\n.' }]);
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
