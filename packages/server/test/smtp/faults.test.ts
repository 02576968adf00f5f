import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { MetFault } from '../../src/faults/sql.ts';
import type { FaultPoint } from '../../src/refusals/sql.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { type Step, smtpClient } from '../support/smtp-script.ts';
import { type StartedSmtp, smtpOfTest } from './start-smtp.ts';

const MINUTE = 60_000;
const BUSY = { code: 451, text: '4.7.1 Greylisted' };

let smtp: StartedSmtp;
let clock: FakeClock;

async function start(options: Parameters<typeof smtpOfTest>[0] = {}): Promise<void> {
  clock = new FakeClock();
  smtp = await smtpOfTest(options, clock);
}

const rule = (at: FaultPoint, changes: Partial<MetFault>): void => {
  smtp.receiver.faults.push({ at, reply: null, delayMs: 0, disconnect: false, ...changes });
};

type SmtpPoint = Exclude<FaultPoint, 'api'>;

const hello: Step[] = [{ expect: 220 }, { send: 'EHLO client.test', expect: 250 }];
const mail: Step = { send: 'MAIL FROM:<sender@example.com>', expect: '250 2.1.0' };
const rcpt: Step = { send: 'RCPT TO:<inbox-faulty@mayfly.test>', expect: '250 2.1.5' };
const data: Step = { send: 'DATA', expect: 354 };
const text: Step = { send: 'Subject: x\r\n\r\nx\r\n.', expect: '250 2.0.0' };
/** All commands of a message, and what they lead to before the fault. */
const UP_TO: Record<SmtpPoint, Step[]> = {
  rcpt: [...hello, mail, { ...rcpt, expect: [] }],
  data: [...hello, mail, rcpt, { ...data, expect: [] }],
  'end-of-data': [...hello, mail, rcpt, data, { ...text, expect: [] }],
};
const POINTS: SmtpPoint[] = ['rcpt', 'data', 'end-of-data'];

/** Lets a command that was sent reach the server and come to a delay. */
async function untilDelayed(): Promise<void> {
  // One sleeper is the watch over all connections.
  await clock.untilSleeping(2);
}

describe.each(POINTS)('a fault at %s', (at) => {
  it('gives exactly its reply once, and then the session goes on as usual', async () => {
    await start();
    rule(at, { reply: BUSY });
    const client = await smtpClient(smtp.port);
    await client.play([...UP_TO[at], { expect: /^451 4\.7\.1 Greylisted$/ }]);
    await client.play([{ send: 'RSET', expect: 250 }, mail, rcpt, data, text, { send: 'QUIT', expect: 221 }]);
    expect(smtp.receiver.mails).toHaveLength(1);
    expect(smtp.receiver.refusals).toMatchObject([
      {
        ...{
          address: 'inbox-faulty@mayfly.test',
          reply: '451 4.7.1 Greylisted',
          mailFrom: 'sender@example.com',
        },
        fault: { rule: 1, at, delayMs: 0, disconnect: false },
      },
    ]);
    expect(smtp.metrics.codes).toEqual([451]);
  });

  it('closes the connection without a reply', async () => {
    await start();
    rule(at, { disconnect: true });
    const client = await smtpClient(smtp.port);
    await client.play(UP_TO[at]);
    expect(await client.closed()).toBe('');
    expect(smtp.receiver.mails).toEqual([]);
    expect(smtp.receiver.refusals).toMatchObject([{ reply: '', fault: { at, disconnect: true } }]);
  });

  // After a 421 always: RFC 5321 section 3.8.
  it.each([
    [554, true],
    [421, false],
  ])('closes the connection after its reply %i', async (code, disconnect) => {
    await start();
    rule(at, { reply: { code, text: 'go away' }, disconnect });
    const client = await smtpClient(smtp.port);
    await client.play([...UP_TO[at], { expect: `${code} go away` }]);
    expect(await client.closed()).toBe('');
  });

  it('delays its reply, longer than the session may idle or last', async () => {
    await start({ limits: { idleMs: 5 * MINUTE, sessionMs: 6 * MINUTE } });
    rule(at, { delayMs: 14 * MINUTE, reply: BUSY });
    const client = await smtpClient(smtp.port);
    await client.play(UP_TO[at]);
    await untilDelayed();
    let reply = '';
    const replied = client.reply().then((given) => {
      reply = given;
    });
    await clock.advance(14 * MINUTE - 1);
    expect(reply).toBe('');
    await clock.advance(1);
    await replied;
    expect(reply).toBe('451 4.7.1 Greylisted');
    await client.play([{ send: 'RSET', expect: 250 }, mail, rcpt, data, text]);
  });

  it('delays the usual reply', async () => {
    await start();
    rule(at, { delayMs: 10_000 });
    const client = await smtpClient(smtp.port);
    await client.play(UP_TO[at]);
    await untilDelayed();
    await clock.advance(10_000);
    const rest = { rcpt: [rcpt, data, text], data: [data, text], 'end-of-data': [text] }[at];
    const [first, ...others] = rest;
    await client.play([{ expect: first?.expect ?? [] }, ...others]);
    expect(smtp.receiver.mails).toHaveLength(1);
  });

  it('that delays ends when the server stops, which does not wait for it', async () => {
    await start();
    rule(at, { delayMs: 10 * MINUTE, reply: BUSY });
    const client = await smtpClient(smtp.port);
    await client.play(UP_TO[at]);
    await untilDelayed();
    await smtp.stop(60_000);
    const left = await client.closed();
    expect(left).toMatch(at === 'end-of-data' ? /^451 .*\r\n421 4\.3\.2/ : /^421 4\.3\.2/);
    expect(clock.sleepers).toBe(0);
  });

  it('that delays leaves nothing behind when the sender is gone', async () => {
    await start();
    rule(at, { delayMs: 10 * MINUTE });
    const client = await smtpClient(smtp.port);
    await client.play(UP_TO[at]);
    await untilDelayed();
    client.socket.resetAndDestroy();
    while (smtp.metrics.open > 0 || clock.sleepers > 1) await nextTurn();
    expect(smtp.metrics.open).toBe(0);
  });
});

describe('a delay', () => {
  it('counts against no limit of connections, and delays no other client', async () => {
    await start({ smtpMaxConnections: 4 });
    const delayed = [];
    for (let n = 0; n < 2; n++) {
      rule('rcpt', { delayMs: 5000 });
      const client = await smtpClient(smtp.port);
      await client.play(UP_TO.rcpt);
      await clock.untilSleeping(2 + n);
      delayed.push(client);
    }
    const others = [];
    for (let n = 0; n < 4; n++) {
      const client = await smtpClient(smtp.port);
      await client.play([...hello, mail, rcpt, data]);
      others.push(client);
    }
    expect(smtp.metrics.open).toBe(6);
    await clock.advance(5000);
    for (const client of delayed) await client.play([{ expect: '250 2.1.5' }, data]);
    // They are counted again, so a new client finds no place.
    const late = await smtpClient(smtp.port);
    await late.play([{ expect: '421' }]);
    for (const client of [...delayed, ...others, late]) client.close();
    while (smtp.metrics.open > 0) await nextTurn();
  });

  it('at the end of a message holds none of the memory of messages', async () => {
    await start({ maxMessageBytes: 1_000_000, inFlightBytes: 1_000_000 });
    const large = `Subject: x\r\n\r\n${'x'.repeat(70)}\r\n`.padEnd(600_000, `${'x'.repeat(70)}\r\n`);
    rule('end-of-data', { delayMs: MINUTE });
    const slow = await smtpClient(smtp.port);
    await slow.play([...hello, mail, rcpt, data]);
    await slow.send(`${large}\r\n.\r\n`);
    await untilDelayed();
    const other = await smtpClient(smtp.port);
    await other.play([...hello, mail, { send: 'RCPT TO:<a@mayfly.test>', expect: 250 }, data]);
    await other.send(`${large}\r\n.\r\n`);
    await other.play([{ expect: '250 2.0.0' }]);
    // The first was stored before its delay, and is acknowledged after it.
    expect(smtp.receiver.mails).toHaveLength(2);
    await clock.advance(MINUTE);
    await slow.play([{ expect: '250 2.0.0' }]);
  });
});

it('refusals by faults are no errors of the client, however many there are', async () => {
  await start({ limits: { maxErrors: 5 } });
  const client = await smtpClient(smtp.port);
  await client.play([...hello, mail]);
  for (let n = 0; n < 20; n++) {
    rule('rcpt', { reply: { code: 550, text: 'no' } });
    await client.play([{ ...rcpt, expect: /^550 no$/ }]);
  }
  await client.play([rcpt, data, text]);
});

it('a message for several inboxes: the first rule that replies decides, and delays add up', async () => {
  await start();
  const client = await smtpClient(smtp.port);
  const to = (name: string): Step => ({ send: `RCPT TO:<inbox-faulty-${name}@mayfly.test>`, expect: 250 });
  const recipients = [
    to('a'),
    { send: 'RCPT TO:<a@mayfly.test>', expect: 250 },
    to('a+tag'),
    to('b'),
    to('c'),
  ];
  await client.play([...hello, mail, ...recipients, data]);
  rule('end-of-data', { delayMs: 1000 });
  rule('end-of-data', { delayMs: 500, reply: BUSY });
  rule('end-of-data', { reply: { code: 554, text: 'not met by this message' } });
  await client.play([{ ...text, expect: [] }]);
  await untilDelayed();
  await clock.advance(1500);
  await client.play([{ expect: '451 4.7.1' }]);
  expect(smtp.receiver.mails).toEqual([]);
  expect(smtp.receiver.faults).toHaveLength(1);
  const recorded = smtp.receiver.refusals.map(({ address, reply }) => [address, reply]);
  expect(recorded).toEqual([
    ['inbox-faulty-a@mayfly.test', ''],
    ['inbox-faulty-b@mayfly.test', '451 4.7.1 Greylisted'],
  ]);
});

it('a message that is refused anyway spends no rule at its end', async () => {
  await start();
  rule('end-of-data', { reply: BUSY });
  const client = await smtpClient(smtp.port);
  await client.play([...hello, mail, rcpt, data, { send: 'bare\nline feed\r\n.', expect: '550 5.6.11' }]);
  expect(smtp.receiver.faults).toHaveLength(1);
  await client.play([mail, rcpt, data, { ...text, expect: '451 4.7.1' }]);
});

it('commands that were pipelined behind a delayed one are answered after it, in order', async () => {
  await start();
  rule('rcpt', { delayMs: 1000, reply: BUSY });
  const client = await smtpClient(smtp.port);
  await client.play(hello);
  await client.send(
    'MAIL FROM:<s@example.com>\r\nRCPT TO:<inbox-faulty@mayfly.test>\r\nRCPT TO:<a@mayfly.test>\r\nDATA\r\n',
  );
  await client.play([{ expect: '250 2.1.0' }]);
  await untilDelayed();
  await clock.advance(1000);
  await client.play([{ expect: ['451 4.7.1', '250 2.1.5', 354] }, text]);
});

it('after a refused DATA the recipients stand, and DATA may be sent again; after a refused message they do not', async () => {
  await start();
  rule('data', { reply: BUSY });
  rule('end-of-data', { reply: BUSY });
  const client = await smtpClient(smtp.port);
  await client.play([
    ...hello,
    mail,
    rcpt,
    { ...data, expect: '451 4.7.1' },
    data,
    { ...text, expect: '451 4.7.1' },
  ]);
  await client.play([{ send: 'DATA', expect: '503 5.5.1' }, mail, rcpt, data, text]);
  expect(smtp.receiver.mails).toHaveLength(1);
});

it('more delayed connections than are exempt are counted, so that a flood of them keeps others waiting no more than one of idle ones', async () => {
  await start({ smtpMaxConnections: 4 });
  for (let n = 0; n < 6; n++) {
    rule('rcpt', { delayMs: 5000 });
    await (await smtpClient(smtp.port)).play(UP_TO.rcpt);
    await clock.untilSleeping(2 + n);
  }
  const late = await smtpClient(smtp.port);
  await late.play([{ expect: '421 4.3.2' }]);
});
