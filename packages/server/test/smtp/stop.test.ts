import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { connectedOfTest, inData } from './start-smtp.ts';

test('a stop waits for a mail that is being stored', async () => {
  const { smtp, client } = await connectedOfTest();
  const storing = smtp.receiver.holdStoring();
  await client.play([...inData, { send: 'x\r\n.' }]);
  await storing.begun;
  const stopped = smtp.stop(60_000);
  storing.goOn();
  await client.play([{ expect: ['250 2.0.0', '421 4.3.2'] }]);
  await stopped;
});

test('a stop cuts what is left at its deadline', async () => {
  const clock = new FakeClock();
  const { smtp, client } = await connectedOfTest({}, clock);
  await client.play([...inData, { send: 'never finished' }]);
  const stopped = smtp.stop(8_000);
  await clock.advance(8_000);
  await stopped;
  expect(await client.closed()).toMatch(/^(421 4\.3\.2 .*\r\n)?$/);
  expect(smtp.receiver.mails).toEqual([]);
});

test('a stop ends an incomplete handshake, and may be called twice', async () => {
  const { smtp, client } = await connectedOfTest({ smtpsPort: 0 });
  const socket = connect(smtp.tlsPort ?? 0, '127.0.0.1');
  socket.on('error', () => undefined);
  await new Promise((resolve) => socket.once('connect', resolve));
  await client.play(['→ 220']);
  await Promise.all([smtp.stop(), smtp.stop()]);
  await client.closed();
});
