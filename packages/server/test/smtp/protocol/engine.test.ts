import { describe, expect, it } from 'vitest';
import { type EngineOptions, MAX_BACKLOG_BYTES } from '../../../src/smtp/engine.ts';
import { REPLIES } from '../../../src/smtp/replies.ts';
import { Driver, OPTIONS, say } from './drive.ts';

const HELLO = 'EHLO client.test\r\n';
const MAIL = 'MAIL FROM:<s@example.com>\r\nRCPT TO:<a@mayfly.test>\r\nDATA\r\n';
const limits = (changed: Partial<EngineOptions['limits']>) => ({ limits: { ...OPTIONS.limits, ...changed } });

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

describe('a mail', () => {
  it('is reported as transaction, recipients, bytes and end', () => {
    const { output, events, mails } = say(`${HELLO}${MAIL}hello\r\n.\r\nQUIT\r\n`);
    expect(codes(output)).toBe('250 250 250 354 250 221');
    expect(events.map((event) => JSON.parse(event))).toEqual([
      {
        type: 'mail',
        mailFrom: 's@example.com',
        declaredBytes: 0,
        smtputf8: false,
        helo: 'client.test',
        tls: false,
      },
      { type: 'rcpt', rcptTo: 'a@mayfly.test' },
      { type: 'data' },
      { type: 'end-of-data', refusal: null },
      { type: 'close' },
    ]);
    expect(mails).toEqual(['hello\r\n']);
  });

  it('that is too large is refused at its end', () => {
    const { output, mails } = say(`${HELLO}${MAIL}${'x'.repeat(100)}\r\n.\r\nNOOP\r\n`, {}, 50);
    expect(replies(output).slice(-2)).toEqual(['552 5.3.4 Message too large', '250 2.0.0 OK']);
    expect(mails).toEqual([]);
  });

  it('that is too large by far ends the session without its end being waited for', () => {
    const { output, closed } = say(
      `${HELLO}${MAIL}${'x'.repeat(500)}\r\nNOOP\r\n`,
      limits({ maxDrainedBytes: 200 }),
      50,
    );
    expect(codes(output)).toBe('250 250 250 354 552');
    expect(closed).toBe(true);
  });

  it('that is cut off is not taken', () => {
    const { output, mails, closed } = say(`${HELLO}${MAIL}half a mail\r\n.`);
    expect(codes(output)).toBe('250 250 250 354');
    expect(mails).toEqual([]);
    expect(closed).toBe(true);
  });
});

describe('while an answer is awaited', () => {
  it('nothing more is read, and replies keep their order', () => {
    const driver = new Driver();
    const { engine } = driver;
    engine.push(Buffer.from(`${HELLO}MAIL FROM:<s@example.com>\r\nRCPT TO:<a@mayfly.test>\r\nRCPT TO:<b@`));
    expect(engine.next()?.type).toBe('mail');
    expect(engine.next()?.type).toBe('rcpt');
    expect(engine.next()).toBeUndefined();
    expect(engine.isWaiting).toBe(true);
    expect(engine.backlog).toBe('RCPT TO:<b@'.length);
    engine.push(Buffer.from('mayfly.test>\r\nNOOP\r\n'));
    expect(engine.next()).toBeUndefined();
    engine.takeOutput();
    engine.answer(REPLIES.inboxFull);
    expect(engine.next()).toMatchObject({ type: 'rcpt', rcptTo: 'b@mayfly.test' });
    engine.answer(REPLIES.recipientOk);
    expect(engine.next()).toBeUndefined();
    expect(engine.takeOutput()).toMatch(/^452 .*\r\n250 2\.1\.5 .*\r\n250 2\.0\.0 OK\r\n$/);
    expect(engine.backlog).toBe(0);
  });

  it('input is bounded', () => {
    const driver = new Driver();
    driver.engine.push(Buffer.from(`${HELLO}MAIL FROM:<s@example.com>\r\nRCPT TO:<a@mayfly.test>\r\n`));
    driver.engine.next();
    driver.engine.next();
    const piece = Buffer.from('NOOP\r\n'.repeat(10_000));
    expect(() => {
      for (let i = 0; i <= MAX_BACKLOG_BYTES / piece.length; i++) driver.engine.push(piece);
    }).toThrow(/not paused/);
  });

  it('DATA may be answered with any reply, and the transaction goes on', () => {
    const { engine } = new Driver();
    engine.push(Buffer.from(`${HELLO}${MAIL}`));
    while (engine.next()?.type !== 'data') engine.answer(REPLIES.recipientOk);
    engine.answer({ code: 451, enhanced: '4.7.1', text: 'Later' });
    engine.push(Buffer.from('DATA\r\n'));
    expect(engine.next()?.type).toBe('data');
    expect(engine.takeOutput()).toMatch(/451 4\.7\.1 Later\r\n$/);
  });

  it('a 421 ends the session', () => {
    const { engine } = new Driver();
    engine.push(Buffer.from(`${HELLO}${MAIL}`));
    while (engine.next()?.type !== 'rcpt');
    engine.answer({ code: 421, enhanced: '4.3.2', text: 'Fault' });
    expect(engine.next()).toEqual({ type: 'close' });
    expect(engine.next()).toBeUndefined();
    expect(engine.takeOutput()).toMatch(/421 4\.3\.2 Fault\r\n$/);
  });

  it('the session may end; a late answer changes nothing', () => {
    const { engine } = new Driver();
    engine.push(Buffer.from(`${HELLO}${MAIL}`));
    while (engine.next()?.type !== 'rcpt');
    engine.leave(REPLIES.shuttingDown);
    engine.answer(REPLIES.recipientOk);
    expect(engine.next()).toEqual({ type: 'close' });
    expect(engine.takeOutput()).toMatch(/421 4\.3\.2 .*\r\n$/);
  });
});

describe('leaving', () => {
  it('waits for the message that is coming in or being stored', () => {
    const driver = new Driver();
    driver.push(Buffer.from(`${HELLO}${MAIL}first\r\n`));
    driver.engine.leave(REPLIES.shuttingDown);
    driver.push(Buffer.from('second\r\n.\r\nNOOP\r\n'));
    expect(driver.transcript.mails).toEqual(['first\r\nsecond\r\n']);
    expect(codes(driver.transcript.output)).toBe('250 250 250 354 250 421');
    expect(driver.transcript.closed).toBe(true);
  });
});

describe('STARTTLS', () => {
  const upgraded = (behind = '') => {
    const driver = new Driver();
    driver.push(Buffer.from(`${HELLO}MAIL FROM:<s@example.com>\r\nSTARTTLS\r\n${behind}`));
    expect(codes(driver.transcript.output)).toBe('250 250 220');
    driver.transcript.output = '220 \r\n';
    return driver;
  };

  it.each(['RSET\r\n', 'EHLO evil.test\r\nMAIL FROM:<evil@example.com>\r\n', 'NOO', 'NOOP\r\n'.repeat(5000)])(
    'is followed by silence, whatever comes in plaintext: %j',
    (injected) => {
      const driver = upgraded(injected);
      driver.push(Buffer.from(injected));
      expect(driver.engine.backlog).toBe(0);
      driver.engine.secured();
      driver.push(Buffer.from('RCPT TO:<a@mayfly.test>\r\nEHLO good.test\r\nSTARTTLS\r\n'));
      expect(codes(driver.transcript.output)).toBe('503 250 503');
      expect(driver.transcript.output).not.toContain('250-STARTTLS');
    },
  );

  it('is silent even when the session ends in the handshake', () => {
    const driver = upgraded();
    driver.engine.close(REPLIES.idle);
    driver.run();
    expect(driver.transcript).toMatchObject({ output: '220 \r\n', closed: true });
  });

  it('is not followed by a pause for others when nothing is left to read', () => {
    const { engine } = new Driver();
    engine.push(Buffer.from(`${'NOOP\r\n'.repeat(99)}STARTTLS\r\nNOOP\r\n`));
    expect(engine.next()?.type).toBe('starttls');
    engine.acceptTls();
    engine.secured();
    expect(engine.next()).toBeUndefined();
  });

  it('that is refused leaves the session as it is', () => {
    const { engine } = new Driver();
    engine.push(Buffer.from(`${HELLO}STARTTLS\r\nNOOP\r\n`));
    expect(engine.next()?.type).toBe('starttls');
    engine.answer(REPLIES.noTlsNow);
    expect(engine.next()).toBeUndefined();
    expect(engine.takeOutput()).toMatch(/454 4\.7\.0 .*\r\n250 2\.0\.0 OK\r\n$/);
  });

  it('is not known where it is not offered', () => {
    expect(codes(say('STARTTLS\r\n', { startTls: false }).output)).toBe('502');
    expect(say(HELLO, { startTls: false }).output).not.toContain('STARTTLS');
    expect(say(HELLO, { tls: true }).output).not.toContain('STARTTLS');
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
  ])('%s', (_name, sent, expected) => {
    expect(codes(say(HELLO + sent).output)).toBe(`250 ${expected}`);
  });

  it.each<[EngineOptions['auth'], boolean, string, boolean]>([
    ['off', true, '502', false],
    ['encrypted', false, '538', false],
    ['encrypted', true, '235', true],
    ['always', false, '235', true],
  ])('offered %s, encrypted %s: %s', (auth, tls, code, listed) => {
    const { output } = say(`${HELLO}${plain('right')}`, { auth, tls });
    expect(codes(output)).toBe(`250 ${code}`);
    expect(output.includes('250-AUTH PLAIN LOGIN\r\n')).toBe(listed);
  });

  it('needs EHLO, and is listed no more once it is done', () => {
    expect(codes(say(plain('right')).output)).toBe('503');
    expect(say(`${HELLO}${plain('right')}${HELLO}`).output.match(/AUTH PLAIN/g)).toHaveLength(1);
  });

  it('fails so many times, and then the connection ends', () => {
    const { output, closed } = say(HELLO + plain('wrong').repeat(5), limits({ maxAuthFailures: 3 }));
    expect(codes(output)).toBe('250 535 535 535 421');
    expect(closed).toBe(true);
  });
});

describe('limits', () => {
  it('too many errors end the session, and an accepted mail forgives them', () => {
    const wrong = 'WHAT\r\n'.repeat(2);
    const mail = `${MAIL}x\r\n.\r\n`;
    const { output } = say(`${HELLO}${wrong}${mail}${wrong}WHAT\r\nNOOP\r\n`, limits({ maxErrors: 3 }));
    expect(codes(output)).toBe('250 500 500 250 250 354 250 500 500 500 421');
  });

  it('too many commands without a mail end it; those of a mail do not add up', () => {
    const mail = `${MAIL}x\r\n.\r\n`;
    const { output } = say(
      `${HELLO}${mail}${mail}${'NOOP\r\n'.repeat(9)}`,
      limits({ maxCommandsPerMail: 7 }),
    );
    expect(codes(output)).toBe('250 250 250 354 250 250 250 354 250 250 250 250 250 250 250 250 421');
  });

  it('recipients past the limit are rejected and told, and cost no command', () => {
    const { output, events } = say(
      `${HELLO}MAIL FROM:<s@example.com>\r\n${'RCPT TO:<a@mayfly.test>\r\n'.repeat(200)}DATA\r\n`,
      limits({ maxRecipients: 2, maxCommandsPerMail: 10 }),
    );
    expect(codes(output)).toBe(`250 250 250 250 ${'452 '.repeat(198)}354`);
    expect(JSON.parse(events[3] ?? '')).toMatchObject({ type: 'rejected', rcptTo: 'a@mayfly.test' });
  });

  it('a command line may have its limit, and one byte more is skipped', () => {
    const line = (bytes: number) => `NOOP ${'x'.repeat(bytes - 5)}\r\n`;
    expect(codes(say(line(2048) + line(2049) + line(70) + line(9000) + line(70)).output)).toBe(
      '250 500 250 500 250',
    );
  });

  it('a line without an end ends the session, in bounded memory', () => {
    const driver = new Driver();
    const piece = Buffer.alloc(50_000, 'x');
    for (let i = 0; i < 3; i++) {
      driver.push(piece);
      expect(driver.engine.backlog).toBe(0);
    }
    expect(codes(driver.transcript.output)).toBe('500 421');
    expect(driver.transcript.closed).toBe(true);
  });

  it('many long lines are skipped each by itself', () => {
    const long = `${'x'.repeat(50_000)}\r\n`;
    expect(codes(say(long.repeat(5)).output)).toBe('500 500 500 500 500');
  });

  it('a piece full of commands is interrupted, so that others have their turn', () => {
    const { engine } = new Driver();
    engine.push(Buffer.from('NOOP\r\n'.repeat(250)));
    const events = Array.from({ length: 4 }, () => engine.next()?.type);
    expect(events).toEqual(['yield', 'yield', undefined, undefined]);
    expect(codes(`220 \r\n${engine.takeOutput().replace(/^220 .*\r\n/, '')}`).split(' ')).toHaveLength(250);
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
  ])('%s ends the session', (_name, sent, expected) => {
    const { output, closed } = say(sent);
    expect(replies(output)).toHaveLength(1);
    expect(replies(output)[0]).toContain(expected);
    expect(closed).toBe(true);
  });
});

describe('a command line that ends with a bare LF', () => {
  it('is an error that names the mistake', () => {
    expect(replies(say('EHLO client.test\nNOOP\r\n').output)).toEqual([
      '500 5.5.2 A command line must end with CR LF, not with LF alone',
      '250 2.0.0 OK',
    ]);
  });

  it('is accepted where bare line endings are normalised, but no lone dot ends the message that follows', () => {
    const mail = MAIL.replaceAll('\r\n', '\n');
    const { output, mails } = say(`EHLO c\n${mail}.\r\nx\r\n.\r\nQUIT\n`, { bareLineEndings: 'normalise' });
    expect(codes(output)).toBe('250 250 250 354 250 221');
    expect(mails).toEqual(['.\r\nx\r\n']);
  });
});
