import { beforeEach, describe, expect, test } from 'vitest';
import { FakeClock } from '../support/fake-clock.ts';
import { rawClient } from '../support/raw-client.ts';
import type { SmtpClient } from '../support/smtp-script.ts';
import {
  clientOfTest,
  connectedOfTest,
  hello,
  inData,
  mailTo,
  type SmtpTestOptions,
  type StartedSmtp,
  turns,
} from './start-smtp.ts';

let clock: FakeClock;
let smtp: StartedSmtp;
let client: SmtpClient;
async function start(options: SmtpTestOptions = {}): Promise<void> {
  clock = new FakeClock();
  ({ smtp, client } = await connectedOfTest(options, clock));
}
beforeEach(() => start());

const newClient = (): Promise<SmtpClient> => clientOfTest(smtp.port);

describe('connections', () => {
  test('above the limit get 421 while all are in use, and a freed place is given to the next client', async () => {
    await start({ smtpMaxConnections: 2 });
    // A connection is in use as long as it sends a mail.
    for (const one of [client, await newClient()]) await one.play(inData);
    const third = await newClient();
    await third.play(['→ 421 4.3.2']);
    expect(await third.closed()).toBe('');
    await client.play(['x\r\n. → 250', 'QUIT → 221']);
    await client.closed();
    client.close();
    await expect.poll(async () => (await newClient()).reply(), { interval: 1 }).toMatch(/^220/);
  });

  test('from this machine are not limited by address: a pipeline runs all its tests from there', async () => {
    await start({ smtpMaxConnectionsPerAddress: 2 });
    for (let i = 0; i < 4; i++) await (await newClient()).play(['→ 220']);
    expect(smtp.metrics.open).toBe(5);
  });
});

describe('a stop', () => {
  test('waits for a mail that is being stored', async () => {
    const storing = smtp.receiver.holdStoring();
    await client.play([...inData, { send: 'x\r\n.' }]);
    await storing.begun;
    const stopped = smtp.stop(60_000);
    storing.goOn();
    await client.play([{ expect: ['250 2.0.0', '421 4.3.2'] }]);
    await stopped;
  });

  test('cuts what is left at its deadline', async () => {
    await client.play([...inData, { send: 'never finished' }]);
    const stopped = smtp.stop(8_000);
    await clock.advance(8_000);
    await stopped;
    expect(await client.closed()).toMatch(/^(421 4\.3\.2 .*\r\n)?$/);
    expect(smtp.receiver.mails).toEqual([]);
  });

  test('ends an incomplete handshake, and may be called twice', async () => {
    await start({ smtpsPort: 0 });
    const handshake = rawClient(smtp.tlsPort ?? 0);
    await new Promise((resolve) => handshake.socket.once('connect', resolve));
    await client.play(['→ 220']);
    await Promise.all([smtp.stop(), smtp.stop()]);
    for (const one of [client, handshake]) await one.closed();
  });
});

describe('a client that makes errors', () => {
  const nineteen: string[] = Array(19).fill('WHAT → 500');

  test('is disconnected with 421 at the twentieth error', async () => {
    await client.play([...hello, ...nineteen, { send: 'WHAT', expect: [500, '421 4.7.0'] }]);
    expect(await client.closed()).toBe('');
  });

  test('starts again with no errors when it delivers a message', async () => {
    const mail = mailTo('a@mayfly.test');
    await client.play([...hello, ...nineteen, ...mail, ...nineteen, ...mail]);
  });

  test('is disconnected with 421 after too many commands without a message', async () => {
    await start({ limits: { maxCommandsPerMail: 10 } });
    await client.play(['→ 220', ...Array(10).fill('NOOP → 250'), 'NOOP → 421 4.7.0']);
    expect(await client.closed()).toBe('');
  });
});

describe('a command line', () => {
  test('of 512 octets is understood, and one of 2048', async () => {
    const noop = (octets: number) => `NOOP ${'x'.repeat(octets - 7)}`;
    await client.play(['→ 220', `${noop(512)} → 250`, `${noop(2050)} → 250`, `${noop(2051)} → 500 5.5.2`]);
  });

  test('that is too long is skipped, however it comes, and the session stays in step', async () => {
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
    await client.play(['→ 220']);
    client.socket.write(Buffer.alloc(10_000_000, 'x'));
    await client.play([{ expect: ['500 5.5.2', '421 4.7.0'] }]);
    expect(await client.closed()).toBe('');
  });
});

describe('time', () => {
  test('five minutes without a command end a session, bytes of no command do not prolong it', async () => {
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
    await client.play(inData);
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
    await client.play(inData);
    for (let i = 0; i < 20; i++) {
      expect(smtp.receiver.mails).toEqual([]);
      await client.send(`${'x'.repeat(40_000)}\r\n`);
      await turns(2);
      await clock.advance(60_000);
    }
    await client.play(['. → 250']);
  });

  test('a session lasts an hour at most, a mail that is being stored is waited for', async () => {
    const storing = smtp.receiver.holdStoring();
    await client.play([...inData, { send: 'x\r\n.' }]);
    await storing.begun;
    await clock.advance(2 * 3_600_000);
    storing.goOn();
    await client.play(['→ 250']);
    await clock.advance(10_000);
    await client.play(['→ 421 4.4.2']);
  });
});
