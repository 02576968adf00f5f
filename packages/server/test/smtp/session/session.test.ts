import { describe, expect, it } from 'vitest';
import { ByteBudget } from '../../../src/inbound/in-flight/byte-budget.ts';
import type { Refusal } from '../../../src/refusals/sql.ts';
import { REPLIES } from '../../../src/smtp/replies.ts';
import { SmtpVisits } from '../../../src/smtp/visits.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { type DriveOptions, Driver, say } from './drive.ts';

const HELLO = 'EHLO client.test\r\n';
const MAIL = 'MAIL FROM:<s@example.com>\r\nRCPT TO:<a@mayfly.test>\r\nDATA\r\n';
const FAULTY = { inboxId: 'inb_1', accountId: 'acc_1', address: 'a@mayfly.test', faultsOf: 'a@mayfly.test' };

/** The last lines of all replies, less the greeting. */
const replies = (output: string): string[] =>
  output
    .split('\r\n')
    .filter((line) => /^\d{3} /.test(line))
    .slice(1);
/** Codes alone. */
const codes = (output: string): string =>
  replies(output)
    .map((line) => line.slice(0, 3))
    .join(' ');

/** An application that answers RCPT, and stores, when the test lets it. */
function holding(): { receiver: NonNullable<DriveOptions['receiver']>; goOn: (error?: Error) => void } {
  const held = Promise.withResolvers<void>();
  const inbox = { ...FAULTY, rcptTo: 'a@mayfly.test', maxMessages: 10, maxMessageBytes: 1000 };
  const accept = () => held.promise.then(() => inbox);
  return {
    receiver: { accept, meetFault: async () => undefined },
    goOn: (error) => (error ? held.reject(error) : held.resolve()),
  };
}

describe('a mail', () => {
  it('is asked for at RCPT and delivered at its end', async () => {
    const { output, calls, mails, closed } = await say(`${HELLO}${MAIL}hello\r\n.\r\nQUIT\r\n`);
    expect(codes(output)).toBe('250 250 250 354 250 221');
    expect(calls.map((call) => JSON.parse(call))).toMatchObject([
      { rcptTo: 'a@mayfly.test', declaredBytes: 0 },
      {
        envelope: { mailFrom: 's@example.com', helo: 'client.test', remoteAddress: '192.0.2.1', tls: false },
        recipients: [{ rcptTo: 'a@mayfly.test' }],
        trace: { id: 'session', protocol: 'SMTP' },
      },
    ]);
    expect(mails).toEqual(['hello\r\n']);
    expect(closed).toBe(true);
  });

  it('that is too large is refused at its end', async () => {
    const text = `${HELLO}${MAIL}${'x'.repeat(100)}\r\n.\r\nNOOP\r\n`;
    const { output, mails } = await say(text, { inboxBytes: 50 });
    expect(replies(output).slice(-2)).toEqual(['552 5.3.4 Message too large', '250 2.0.0 OK']);
    expect(mails).toEqual([]);
  });

  it('that is too large by far ends the session without its end being waited for', async () => {
    const options = { limits: { maxDrainedBytes: 200 }, inboxBytes: 50 };
    const { output, closed } = await say(`${HELLO}${MAIL}${'x'.repeat(500)}\r\nNOOP\r\n`, options);
    expect(codes(output)).toBe('250 250 250 354 552');
    expect(closed).toBe(true);
  });

  it('that is cut off is not taken', async () => {
    const { output, mails, closed, budget } = await say(`${HELLO}${MAIL}half a mail\r\n.`);
    expect(codes(output)).toBe('250 250 250 354');
    expect(mails).toEqual([]);
    expect([closed, budget.held]).toEqual([true, 0]);
  });
});

describe('while the application is asked', () => {
  it('earlier replies are sent, nothing more is read, and replies keep their order', async () => {
    const { receiver, goOn } = holding();
    const driver = new Driver({ receiver });
    const pushed = driver.push(`${HELLO}${MAIL.replace('DATA', 'NOOP')}QUIT\r\n`);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    expect(codes(driver.output)).toBe('250 250');
    expect(driver.session.isWaiting).toBe(true);
    goOn();
    await pushed;
    expect(codes(driver.output)).toBe('250 250 250 250 221');
  });

  it('the session may end; a late answer changes nothing', async () => {
    const { receiver, goOn } = holding();
    const driver = new Driver({ receiver });
    const pushed = driver.push(`${HELLO}${MAIL}`);
    await new Promise((resolve) => setImmediate(resolve));
    driver.session.leave();
    goOn();
    await pushed;
    expect(codes(driver.output)).toBe('250 250 421');
    expect(driver.closed).toBe(true);
  });

  it('a fault rule may answer DATA, and the transaction goes on', async () => {
    const rules = [{ code: 451, text: '4.7.1 Later' }];
    const { receiver, goOn } = holding();
    goOn();
    const meetFault = async (_: unknown, at: string) => {
      const reply = at === 'data' ? rules.pop() : undefined;
      return reply && { rule: 1, at: 'data' as const, reply, delayMs: 0, disconnect: false };
    };
    const driver = new Driver({ receiver: { ...receiver, meetFault } });
    await driver.push(`${HELLO}${MAIL}DATA\r\n`);
    expect(codes(driver.output)).toBe('250 250 250 451 354');
  });

  it('a defect of it is logged, and answered with 451', async () => {
    const defect = new Error('a defect');
    const driver = new Driver({ receiver: { deliver: () => Promise.reject(defect) } });
    await driver.push(`${HELLO}${MAIL}x\r\n.\r\nNOOP\r\n`);
    expect(codes(driver.output)).toBe('250 250 250 354 451 250');
    expect(driver.defects).toEqual([defect]);
  });
});

it('leaving waits for the message that is coming in or being stored', async () => {
  const driver = new Driver();
  await driver.push(`${HELLO}${MAIL}first\r\n`);
  driver.session.leave();
  await driver.push('second\r\n.\r\nNOOP\r\n');
  expect(driver.mails).toEqual(['first\r\nsecond\r\n']);
  expect(codes(driver.output)).toBe('250 250 250 354 250 421');
  expect(driver.closed).toBe(true);
});

it('a message whose last bytes wait for memory when its sender leaves is not stored', async () => {
  const budget = new ByteBudget({ capacity: 1_000_000, largest: 1_000_000, clock: new FakeClock() });
  budget.take(
    budget.open('another', () => undefined),
    900_000,
  );
  const driver = new Driver({ budget });
  await driver.push(`${HELLO}${MAIL}`);
  void driver.push(`${'x'.repeat(99_998)}\r\n.\r\n`);
  await new Promise((resolve) => setImmediate(resolve));
  expect(driver.session.isWaiting).toBe(true);
  driver.session.close();
  await driver.finish();
  expect([driver.mails, codes(driver.output)]).toEqual([[], '250 250 250 354']);
});

describe('STARTTLS', () => {
  const upgraded = async (behind = '') => {
    const driver = new Driver();
    await driver.push(`${HELLO}MAIL FROM:<s@example.com>\r\nSTARTTLS\r\n${behind}`);
    expect(codes(driver.output)).toBe('250 250 220');
    driver.output = '220 \r\n';
    return driver;
  };

  it.each(['RSET\r\n', 'EHLO evil.test\r\nMAIL FROM:<evil@example.com>\r\n', 'NOO', 'NOOP\r\n'.repeat(5000)])(
    'discards what came in plaintext: %j',
    async (injected) => {
      const driver = await upgraded(injected);
      await driver.secured();
      await driver.push('RCPT TO:<a@mayfly.test>\r\nEHLO good.test\r\nSTARTTLS\r\n');
      expect(codes(driver.output)).toBe('503 250 503');
      expect(driver.output).not.toContain('250-STARTTLS');
    },
  );

  it('that is refused leaves the session as it is', async () => {
    const driver = new Driver();
    driver.prepareTls = () => Promise.reject(new Error('no certificate'));
    await driver.push(`${HELLO}STARTTLS\r\nNOOP\r\n`);
    expect(codes(driver.output)).toBe('250 454 250');
  });

  it('is not known where it is not offered', async () => {
    expect(codes((await say('STARTTLS\r\n', { startTls: false })).output)).toBe('502');
    expect((await say(HELLO, { startTls: false })).output).not.toContain('STARTTLS');
    expect((await say(HELLO, { isEncrypted: true })).output).not.toContain('STARTTLS');
  });
});

describe('AUTH', () => {
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const plain = (password: string) => `AUTH PLAIN ${base64(`\0user\0${password}`)}\r\n`;

  it.each<[string, string, string]>([
    ['PLAIN with its response', plain('right'), '235'],
    ['PLAIN after a challenge', `AUTH PLAIN\r\n${base64('\0user\0right')}\r\n`, '334 235'],
    ['LOGIN', `AUTH LOGIN\r\n${base64('user')}\r\n${base64('right')}\r\n`, '334 334 235'],
    ['LOGIN with the user name', `AUTH LOGIN ${base64('user')}\r\n${base64('right')}\r\n`, '334 235'],
    ['in lower case', `auth plain ${base64('\0user\0right')}\r\n`, '235'],
    ['wrong credentials', plain('wrong'), '535'],
    ['a cancelled exchange, in step', 'AUTH LOGIN\r\n*\r\nNOOP\r\n', '334 501 250'],
    ['a response that is no base64, in step', 'AUTH LOGIN\r\n???\r\nNOOP\r\n', '334 501 250'],
    ['an empty response', 'AUTH PLAIN =\r\n', '501'],
    ['no mechanism', 'AUTH\r\n', '501'],
    ['an unknown mechanism', 'AUTH CRAM-MD5\r\n', '504'],
    ['a second time', `${plain('right')}${plain('right')}`, '235 503'],
    ['during a transaction', `MAIL FROM:<s@example.com>\r\n${plain('right')}`, '250 503'],
    ['a response that looks like a command', 'AUTH PLAIN\r\nQUIT\r\nNOOP\r\n', '334 501 250'],
    ['a line of 12,288 bytes', `AUTH PLAIN ${'A'.repeat(12_277)}\r\n`, '501'],
    ['a longer one', `AUTH PLAIN ${'A'.repeat(12_278)}\r\nNOOP\r\n`, '500 250'],
    ['a longer response', `AUTH PLAIN\r\n${'A'.repeat(12_289)}\r\nNOOP\r\n`, '334 500 250'],
    ['a line behind one that is too long', `${'x'.repeat(3000)}\r\n${plain('right')}`, '500 235'],
  ])('%s', async (_name, sent, expected) => {
    expect(codes((await say(HELLO + sent)).output)).toBe(`250 ${expected}`);
  });

  it.each<['off' | 'inbox', boolean, boolean, string, boolean]>([
    ['off', true, true, '502', false],
    ['inbox', false, false, '538', false],
    ['inbox', false, true, '235', true],
    ['inbox', true, false, '235', true],
  ])(
    'with the setting %s, in plaintext %s, encrypted %s: %s',
    async (auth, authPlaintext, isEncrypted, code, isListed) => {
      const { output } = await say(`${HELLO}${plain('right')}`, { auth, authPlaintext, isEncrypted });
      expect(codes(output)).toBe(`250 ${code}`);
      expect(output.includes('250-AUTH PLAIN LOGIN\r\n')).toBe(isListed);
    },
  );

  it('needs EHLO, and is listed no more once it is done', async () => {
    expect(codes((await say(plain('right'))).output)).toBe('503');
    expect((await say(`${HELLO}${plain('right')}${HELLO}`)).output.match(/AUTH PLAIN/g)).toHaveLength(1);
  });

  it('fails so many times, and then the connection ends', async () => {
    const { output, closed } = await say(HELLO + plain('wrong').repeat(5), {
      limits: { maxAuthFailures: 3 },
    });
    expect(codes(output)).toBe('250 535 535 535 421');
    expect(closed).toBe(true);
  });
});

describe('limits', () => {
  it('too many errors end the session, and an accepted mail forgives them', async () => {
    const wrong = 'WHAT\r\n'.repeat(2);
    const text = `${HELLO}${wrong}${MAIL}x\r\n.\r\n${wrong}WHAT\r\nNOOP\r\n`;
    const { output } = await say(text, { limits: { maxErrors: 3 } });
    expect(codes(output)).toBe('250 500 500 250 250 354 250 500 500 500 421');
  });

  it('too many commands without a mail end it; those of a mail do not add up', async () => {
    const mail = `${MAIL}x\r\n.\r\n`;
    const text = `${HELLO}${mail}${mail}${'NOOP\r\n'.repeat(9)}`;
    const { output } = await say(text, { limits: { maxCommandsPerMail: 7 } });
    expect(codes(output)).toBe('250 250 250 354 250 250 250 354 250 250 250 250 250 250 250 250 421');
  });

  it('recipients past the limit are rejected and told, and cost no command', async () => {
    const text = `${HELLO}MAIL FROM:<s@example.com>\r\n${'RCPT TO:<a@mayfly.test>\r\n'.repeat(200)}DATA\r\n`;
    const limits = { maxRecipients: 2, maxCommandsPerMail: 10 };
    const { output, calls } = await say(text, { limits });
    expect(codes(output)).toBe(`250 250 250 250 ${'452 '.repeat(198)}354`);
    expect(calls[2]).toContain(REPLIES.tooManyRecipients.text);
  });

  it('a command line may have its limit, and one byte more is skipped', async () => {
    const line = (bytes: number) => `NOOP ${'x'.repeat(bytes - 5)}\r\n`;
    const { output } = await say(line(2048) + line(2049) + line(70) + line(9000) + line(70));
    expect(codes(output)).toBe('250 500 250 500 250');
  });

  it('a line without an end ends the session', async () => {
    const driver = new Driver();
    for (let i = 0; i < 3; i++) await driver.push(Buffer.alloc(50_000, 'x'));
    expect(codes(driver.output)).toBe('500 421');
    expect(driver.closed).toBe(true);
  });

  it('many long lines are skipped each by itself', async () => {
    const long = `${'x'.repeat(50_000)}\r\n`;
    expect(codes((await say(long.repeat(5))).output)).toBe('500 500 500 500 500');
  });

  it('a read full of commands is interrupted, so that other connections have their turn', async () => {
    const driver = new Driver();
    let turns = 0;
    const count = () => {
      turns++;
      if (!driver.closed) setImmediate(count);
    };
    setImmediate(count);
    await driver.push(`${'NOOP\r\n'.repeat(950)}QUIT\r\n`);
    expect(turns).toBeGreaterThan(8);
    expect(replies(driver.output)).toHaveLength(951);
  });
});

describe('the first line', () => {
  it.each([
    ['of a browser', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', '500 5.5.1 This is an SMTP server'],
    ['of a proxy that is not trusted', 'PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\nEHLO c\r\n', '500 5.5.1 PROXY'],
    [
      'of such a one, version 2',
      '\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0cxxxxxxxxxxxxEHLO c\r\n',
      '500 5.5.1 PROXY',
    ],
  ])('%s ends the session', async (_name, sent, expected) => {
    const { output, closed } = await say(sent);
    expect(replies(output)).toHaveLength(1);
    expect(replies(output)[0]).toContain(expected);
    expect(closed).toBe(true);
  });
});

describe('a command line that ends with a bare LF', () => {
  it('is an error that names the mistake', async () => {
    expect(replies((await say('EHLO client.test\nNOOP\r\n')).output)).toEqual([
      '500 5.5.2 A command line must end with CR LF, not with LF alone',
      '250 2.0.0 OK',
    ]);
  });

  it('is accepted where bare line endings are normalised, but no lone dot ends the message that follows', async () => {
    const text = `EHLO c\n${MAIL.replaceAll('\r\n', '\n')}.\r\nx\r\n.\r\nQUIT\n`;
    const { output, mails } = await say(text, { bareLineEndings: 'normalise' });
    expect(codes(output)).toBe('250 250 250 354 250 221');
    expect(mails).toEqual(['.\r\nx\r\n']);
  });
});

describe('a client that leaves', () => {
  const EARLY = ['left early'];
  const toA = { mailFrom: 's@a.b', address: 'a@b.c', reply: '' };
  const EHLO = 'EHLO c\r\n';
  const RCPT = `${EHLO}MAIL FROM:<s@a.b>\r\nRCPT TO:<a@b.c>\r\n`;

  it.each([
    ['before EHLO leaves no trace', 'NOOP\r\n', []],
    ['after EHLO is remembered once', `${EHLO}QUIT\r\n`, EARLY],
    ['after MAIL is remembered', `${EHLO}MAIL FROM:<s@a.b>\r\n`, EARLY],
    ['after a refused login is reported by that alone', `${EHLO}AUTH PLAIN AHgAeA==\r\n`, []],
    ['during a TLS handshake is not remembered', `${EHLO}STARTTLS\r\n`, []],
    ['after RCPT is reported', `${RCPT}QUIT\r\n`, [toA]],
    ['after RSET leaves no trace', `${RCPT}RSET\r\n`, []],
    ['in a message is reported as such', `${RCPT}DATA\r\nx\r\n`, [{ ...toA, hadBegun: true }]],
    ['after a message leaves no trace', `${RCPT}DATA\r\nx\r\n.\r\nQUIT\r\n`, []],
  ])('%s', async (_when, text, expected) => {
    const visits = new SmtpVisits();
    const refused: object[] = [];
    const receiver = {
      refused: ({ mailFrom, address, reply, hadBegun }: Refusal) =>
        void refused.push({ mailFrom, address, reply, ...(hadBegun && { hadBegun }) }),
    };
    const driver = await say(text, { visits, receiver });
    driver.session.ended();
    const early = visits.earlyLeavers(-1).map(() => 'left early');
    expect([...refused, ...early]).toEqual(expected);
  });
});
