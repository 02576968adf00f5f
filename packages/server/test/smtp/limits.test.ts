import { describe, expect, test } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import type { SmtpClient } from '../support/smtp-script.ts';
import { clientOfTest, type SmtpTestOptions, type StartedSmtp, smtpOfTest, upToData } from './start-smtp.ts';

let smtp: StartedSmtp;
async function start(options: SmtpTestOptions = {}): Promise<FakeClock> {
  const clock = new FakeClock();
  smtp = await smtpOfTest(options, clock);
  return clock;
}

const newClient = (): Promise<SmtpClient> => clientOfTest(smtp.port);

/** As far as the data of a mail: such a connection is in use. */
const sending = [...upToData, 'DATA → 354'];

describe('connections', () => {
  test('above the limit get 421 while all are in use, and a freed place is given to the next client', async () => {
    await start({ smtpMaxConnections: 2 });
    const first = await newClient();
    await first.play(sending);
    await (await newClient()).play(sending);
    const third = await newClient();
    await third.play(['→ 421 4.3.2']);
    expect(await third.closed()).toBe('');
    await first.play(['x\r\n. → 250', 'QUIT → 221']);
    await first.closed();
    first.close();
    await expect.poll(async () => (await newClient()).reply(), { interval: 1 }).toMatch(/^220/);
  });

  test('from this machine are not limited by address: a pipeline runs all its tests from there', async () => {
    await start({ smtpMaxConnectionsPerAddress: 2 });
    for (let i = 0; i < 5; i++) await (await newClient()).play(['→ 220']);
    expect(smtp.metrics.open).toBe(5);
  });
});

describe('a client that makes errors', () => {
  test('is disconnected with 421 at the twentieth error', async () => {
    await start();
    const client = await newClient();
    await client.play(['→ 220', 'EHLO c → 250']);
    for (let i = 0; i < 19; i++) await client.play(['WHAT → 500']);
    await client.play([{ send: 'WHAT', expect: [500, '421 4.7.0'] }]);
    expect(await client.closed()).toBe('');
  });

  test('starts again with no errors when it delivers a message', async () => {
    await start();
    const client = await newClient();
    const nineteen = Array.from({ length: 19 }, () => 'WHAT → 500');
    const mail = [...upToData.slice(2), 'DATA → 354', 'x\r\n. → 250'];
    await client.play([...upToData.slice(0, 2), ...nineteen, ...mail, ...nineteen, ...mail]);
  });

  test('is disconnected with 421 after too many commands without a message', async () => {
    await start({ limits: { maxCommandsPerMail: 10 } });
    const client = await newClient();
    const ten = Array.from({ length: 10 }, () => 'NOOP → 250');
    await client.play(['→ 220', ...ten, 'NOOP → 421 4.7.0']);
    expect(await client.closed()).toBe('');
  });
});

describe('a command line', () => {
  test('of 512 octets is understood, and one of 2048', async () => {
    await start();
    const client = await newClient();
    await client.play([
      '→ 220',
      `NOOP ${'x'.repeat(505)} → 250`,
      `NOOP ${'x'.repeat(2043)} → 250`,
      `NOOP ${'x'.repeat(2044)} → 500 5.5.2`,
    ]);
  });

  test('that is too long is skipped, however it comes, and the session stays in step', async () => {
    await start();
    const client = await newClient();
    await client.play([
      '→ 220',
      { send: Buffer.from(`NOOP ${'x'.repeat(5000)}\r\nEHLO c\r\n`), expect: ['500 5.5.2', 250] },
      { send: Buffer.from(`NOOP ${'x'.repeat(5000)}`), expect: '500 5.5.2' },
      { send: Buffer.from(`${'x'.repeat(5000)}`) },
      { send: Buffer.from('RSET\r\nNOOP\r\n'), expect: '250 2.0.0 OK' },
      'QUIT → 221',
    ]);
  });

  test('without an end is ended', async () => {
    await start();
    const client = await newClient();
    await client.play(['→ 220']);
    client.socket.write(Buffer.alloc(10_000_000, 'x'));
    await client.play([{ expect: ['500 5.5.2', '421 4.7.0'] }]);
    expect(await client.closed()).toBe('');
  });
});

describe('time', () => {
  test('five minutes without a command end a session, bytes of no command do not prolong it', async () => {
    const clock = await start();
    const client = await newClient();
    await client.play(['→ 220']);
    await clock.advance(290_000);
    await client.play(['NOOP → 250']);
    await clock.advance(290_000);
    await client.send('NO');
    await clock.advance(20_000);
    await client.play(['→ 421 4.4.2']);
    expect(await client.closed()).toBe('');
  });

  test('data slower than 500 octets a second ends a session, and its mail is not kept', async () => {
    const clock = await start();
    const client = await newClient();
    await client.play([...upToData, 'DATA → 354']);
    for (let i = 0; i < 3; i++) {
      await client.send('one byte each twenty seconds\r\n');
      await clock.advance(20_000);
    }
    await clock.advance(5_000);
    await client.play(['→ 421 4.4.2']);
    expect(await client.closed()).toBe('');
    await expect.poll(() => smtp.metrics.mails.map((mail) => mail.result)).toEqual(['failed']);
    expect(smtp.receiver.mails).toEqual([]);
  });

  test('data that comes fast enough may take long', async () => {
    const clock = await start();
    const client = await newClient();
    await client.play([...upToData, 'DATA → 354']);
    for (let i = 0; i < 20; i++) {
      const before = smtp.receiver.mails.length;
      expect(before).toBe(0);
      await client.send(`${'x'.repeat(40_000)}\r\n`);
      await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
      await clock.advance(60_000);
    }
    await client.play(['. → 250']);
  });

  test('a session lasts an hour at most, a mail that is being stored is waited for', async () => {
    const clock = await start();
    const client = await newClient();
    const storing = smtp.receiver.holdStoring();
    await client.play([...upToData, 'DATA → 354', { send: 'x\r\n.' }]);
    await storing.begun;
    await clock.advance(2 * 3_600_000);
    storing.goOn();
    await client.play(['→ 250']);
    await clock.advance(10_000);
    await client.play(['→ 421 4.4.2']);
  });
});
