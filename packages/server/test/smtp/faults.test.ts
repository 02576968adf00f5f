import { setImmediate as nextTurn } from 'node:timers/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import type { MetFault } from '../../src/faults/sql.ts';
import type { FaultPoint } from '../../src/refusals/sql.ts';
import { FakeClock } from '../support/fake-clock.ts';
import type { SmtpClient, Step } from '../support/smtp-script.ts';
import {
  clientOfTest,
  connectedOfTest,
  hello,
  inData,
  type SmtpTestOptions,
  type StartedSmtp,
} from './start-smtp.ts';

const MINUTE = 60_000;
const BUSY = { code: 451, text: '4.7.1 Greylisted' };

let smtp: StartedSmtp;
let client: SmtpClient;
let clock: FakeClock;

async function start(options: SmtpTestOptions = {}): Promise<void> {
  clock = new FakeClock();
  ({ smtp, client } = await connectedOfTest(options, clock));
}
beforeEach(() => start());

const rule = (at: FaultPoint, changes: Partial<MetFault>): void => {
  smtp.receiver.faults.push({ at, reply: null, delayMs: 0, disconnect: false, ...changes });
};

type SmtpPoint = Exclude<FaultPoint, 'api'>;

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

/** Lets a command that was sent reach the server and come to a delay: one sleeper is the watch over all connections. */
const untilDelayed = () => clock.untilSleeping(2);

describe.each(POINTS)('a fault at %s', (at) => {
  it('gives exactly its reply once, and then the session goes on as usual', async () => {
    rule(at, { reply: BUSY });
    await client.play([...UP_TO[at], { expect: /^451 4\.7\.1 Greylisted$/ }]);
    await client.play([{ send: 'RSET', expect: 250 }, mail, rcpt, data, text, { send: 'QUIT', expect: 221 }]);
    expect(smtp.receiver.mails).toHaveLength(1);
    const fault = { rule: 1, at, delayMs: 0, disconnect: false };
    const from = { address: 'inbox-faulty@mayfly.test', mailFrom: 'sender@example.com' };
    expect(smtp.receiver.refusals).toMatchObject([{ ...from, reply: '451 4.7.1 Greylisted', fault }]);
    expect(smtp.metrics.codes).toEqual([451]);
  });

  it('closes the connection without a reply', async () => {
    rule(at, { disconnect: true });
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
    rule(at, { reply: { code, text: 'go away' }, disconnect });
    await client.play([...UP_TO[at], { expect: `${code} go away` }]);
    expect(await client.closed()).toBe('');
  });

  it('delays its reply, longer than the session may idle or last', async () => {
    await start({ limits: { idleMs: 5 * MINUTE, sessionMs: 6 * MINUTE } });
    rule(at, { delayMs: 14 * MINUTE, reply: BUSY });
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
    rule(at, { delayMs: 10_000 });
    await client.play(UP_TO[at]);
    await untilDelayed();
    await clock.advance(10_000);
    const rest = { rcpt: [rcpt, data, text], data: [data, text], 'end-of-data': [text] }[at];
    const [first, ...others] = rest;
    await client.play([{ expect: first?.expect ?? [] }, ...others]);
    expect(smtp.receiver.mails).toHaveLength(1);
  });

  it('that delays ends when the server stops, which does not wait for it', async () => {
    rule(at, { delayMs: 10 * MINUTE, reply: BUSY });
    await client.play(UP_TO[at]);
    await untilDelayed();
    await smtp.stop(60_000);
    const left = await client.closed();
    expect(left).toMatch(at === 'end-of-data' ? /^451 .*\r\n421 4\.3\.2/ : /^421 4\.3\.2/);
    expect(clock.sleepers).toBe(0);
  });

  it('that delays leaves nothing behind when the sender is gone', async () => {
    rule(at, { delayMs: 10 * MINUTE });
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
    const delayed = [client, await clientOfTest(smtp.port)];
    for (const [n, one] of delayed.entries()) {
      rule('rcpt', { delayMs: 5000 });
      await one.play(UP_TO.rcpt);
      await clock.untilSleeping(2 + n);
    }
    const others = await Promise.all(Array.from({ length: 4 }, () => clientOfTest(smtp.port)));
    for (const one of others) await one.play([...hello, mail, rcpt, data]);
    expect(smtp.metrics.open).toBe(6);
    await clock.advance(5000);
    for (const one of delayed) await one.play(['→ 250 2.1.5', data]);
    // They are counted again, so a new client finds no place.
    const late = await clientOfTest(smtp.port);
    await late.play(['→ 421']);
    for (const one of [...delayed, ...others, late]) one.close();
    while (smtp.metrics.open > 0) await nextTurn();
  });

  it('at the end of a message holds none of the memory of messages', async () => {
    await start({ maxMessageBytes: 1_000_000, inFlightBytes: 1_000_000 });
    const large = `Subject: x\r\n\r\n${'x'.repeat(70)}\r\n`.padEnd(600_000, `${'x'.repeat(70)}\r\n`);
    rule('end-of-data', { delayMs: MINUTE });
    await client.play([...hello, mail, rcpt, data, { send: `${large}\r\n.` }]);
    await untilDelayed();
    await (await clientOfTest(smtp.port)).play([...inData, `${large}\r\n. → 250 2.0.0`]);
    // The first was stored before its delay, and is acknowledged after it.
    expect(smtp.receiver.mails).toHaveLength(2);
    await clock.advance(MINUTE);
    await client.play(['→ 250 2.0.0']);
  });
});

it('refusals by faults are no errors of the client, however many there are', async () => {
  await start({ limits: { maxErrors: 5 } });
  await client.play([...hello, mail]);
  for (let n = 0; n < 20; n++) {
    rule('rcpt', { reply: { code: 550, text: 'no' } });
    await client.play([{ ...rcpt, expect: /^550 no$/ }]);
  }
  await client.play([rcpt, data, text]);
});

it('a message for several inboxes: the first rule that replies decides, and delays add up', async () => {
  const names = ['inbox-faulty-a', 'a', 'inbox-faulty-a+tag', 'inbox-faulty-b', 'inbox-faulty-c'];
  const recipients = names.map((name) => `RCPT TO:<${name}@mayfly.test> → 250`);
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
  expect(smtp.receiver.refusals).toMatchObject([
    { address: 'inbox-faulty-a@mayfly.test', reply: '' },
    { address: 'inbox-faulty-b@mayfly.test', reply: '451 4.7.1 Greylisted' },
  ]);
});

it('a message that is refused anyway spends no rule at its end', async () => {
  rule('end-of-data', { reply: BUSY });
  await client.play([...hello, mail, rcpt, data, { send: 'bare\nline feed\r\n.', expect: '550 5.6.11' }]);
  expect(smtp.receiver.faults).toHaveLength(1);
  await client.play([mail, rcpt, data, { ...text, expect: '451 4.7.1' }]);
});

it('commands that were pipelined behind a delayed one are answered after it, in order', async () => {
  rule('rcpt', { delayMs: 1000, reply: BUSY });
  await client.play(hello);
  const recipients = ['inbox-faulty', 'a'].map((name) => `RCPT TO:<${name}@mayfly.test>\r\n`).join('');
  await client.send(`MAIL FROM:<s@example.com>\r\n${recipients}DATA\r\n`);
  await client.play([{ expect: '250 2.1.0' }]);
  await untilDelayed();
  await clock.advance(1000);
  await client.play([{ expect: ['451 4.7.1', '250 2.1.5', 354] }, text]);
});

it('after a refused DATA the recipients stand, and DATA may be sent again; after a refused message they do not', async () => {
  rule('data', { reply: BUSY });
  rule('end-of-data', { reply: BUSY });
  await client.play([...hello, mail, rcpt, { ...data, expect: '451 4.7.1' }]);
  await client.play([data, { ...text, expect: '451 4.7.1' }]);
  await client.play(['DATA → 503 5.5.1', mail, rcpt, data, text]);
  expect(smtp.receiver.mails).toHaveLength(1);
});

it('more delayed connections than are exempt are counted, so that a flood of them keeps others waiting no more than one of idle ones', async () => {
  await start({ smtpMaxConnections: 4 });
  client.close();
  for (let n = 0; n < 6; n++) {
    rule('rcpt', { delayMs: 5000 });
    await (await clientOfTest(smtp.port)).play(UP_TO.rcpt);
    await clock.untilSleeping(2 + n);
  }
  await (await clientOfTest(smtp.port)).play(['→ 421 4.3.2']);
});
