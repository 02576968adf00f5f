import { describe, expect, test } from 'vitest';
import { playSmtp, type Step, smtpClient } from '../support/smtp-script.ts';
import { hello, inData, mailTo, turns, useSmtp, withSender } from './start-smtp.ts';

const smtp = useSmtp();
const withPostmaster = useSmtp({ postmaster: 'log' });
const rcptTo = () => smtp.receiver.mails.map(({ recipients }) => recipients.map((one) => one.rcptTo));

describe('a mail', () => {
  test('reaches the receiver byte for byte, with its envelope', async () => {
    await playSmtp(smtp.port, [
      ...inData,
      { send: 'Subject: hi\r\n\r\n..stuffed\r\n..\r\n...\r\nend' },
      '. → 250 2.0.0',
      'QUIT → 221 2.0.0',
    ]);
    const [mail] = smtp.receiver.mails;
    expect(mail?.bytes.toString()).toBe('Subject: hi\r\n\r\n.stuffed\r\n.\r\n..\r\nend\r\n');
    const sender = { mailFrom: 'sender@example.com', helo: 'client.test', remoteAddress: '127.0.0.1' };
    expect(mail?.envelope).toEqual({ ...sender, tls: false });
    expect(rcptTo()).toEqual([['a@mayfly.test']]);
    expect(mail?.session).toMatch(/^[0-9a-v]{16}$/);
  });

  test('is given to all recipients that were accepted, tags and case as given', async () => {
    await playSmtp(smtp.port, [
      ...withSender,
      'RCPT TO:<A+one@Mayfly.Test> → 250 2.1.5',
      'RCPT TO:<nobody@mayfly.test> → 550 5.1.1',
      'RCPT TO:<a+two@mayfly.test> → 250 2.1.5',
      'DATA → 354',
      'x\r\n. → 250 2.0.0',
    ]);
    expect(rcptTo()).toEqual([['A+one@Mayfly.Test', 'a+two@mayfly.test']]);
  });

  test.each([
    ['8-bit octets and NUL', 'Gr\xfc\xdfe \0\x01\x7f\r\n'],
    ['a line of 100,000 octets', `${'x'.repeat(100_000)}\r\n`],
  ])('may be %s', async (_name, text) => {
    const send = Buffer.from(`${text}.\r\n`, 'latin1');
    await playSmtp(smtp.port, [...inData, { send, expect: '250 2.0.0' }]);
    expect(smtp.receiver.mails[0]?.bytes.toString('latin1')).toBe(text);
  });
});

describe('a session', () => {
  test('offers exactly what it keeps', async () => {
    const client = await smtpClient(smtp.port);
    expect(await client.reply()).toMatch(/^220 mx\.mayfly\.test ESMTP/);
    await client.send('EHLO client.test\r\n');
    const [greeting, ...offers] = (await client.reply()).split('\n');
    expect(greeting).toMatch(/^250-mx\.mayfly\.test /);
    expect(offers.map((line) => line.slice(4)).sort()).toEqual([
      ...['8BITMIME', 'ENHANCEDSTATUSCODES', 'PIPELINING', `SIZE ${50 * 1024 * 1024}`, 'SMTPUTF8'],
    ]);
    await client.play([{ send: 'HELO client.test', expect: /^250 mx\.mayfly\.test [^\n]*$/ }]);
    client.close();
  });

  // The order of commands is in session/order.test.ts.
  test.each(
    Object.entries<Step[]>({
      'verbs in any case, and trailing spaces': [
        '→ 220',
        'eHlO client.test  → 250',
        'mail from:<s@example.com>  → 250',
        'RcPt tO:<a@mayfly.test>   → 250',
        'data  → 354',
        '. → 250',
        'quit → 221',
        { expect: /^$/ },
      ],
      'a space after the colon, as old senders write it': [
        ...hello,
        'MAIL FROM: <s@example.com> BODY=8BITMIME → 250',
        'RCPT TO: <a@mayfly.test> → 250',
      ],
      'unknown commands': [
        '→ 220',
        ...['WHATISTHIS', '', 'MAIL_FROM_OK', 'constructor', 'WIZ x', 'XCLIENT ADDR=1.2.3.4'].map(
          (line) => `${line} → 500 5.5.2`,
        ),
        'NOOP → 250',
      ],
      'commands that are not offered': [
        ...hello,
        ...['AUTH PLAIN AGEAYg==', 'BDAT 3 LAST', 'EXPN staff', 'ETRN example.com'].map(
          (line) => `${line} → 502 5.5.1`,
        ),
        'NOOP → 250',
      ],
      'arguments where none belong, and none where one belongs': [
        '→ 220',
        ...['EHLO', 'HELO', 'EHLO one two', `EHLO ${'x'.repeat(301)}`].map((line) => `${line} → 501`),
        'EHLO client.test → 250',
        ...['RSET now → 501 5.5.4', 'QUIT now → 501 5.5.4', 'VRFY → 501'],
      ],
      'control characters': [
        '→ 220',
        'EHLO cli\x07ent → 500 5.5.2',
        'EHLO client\0.test → 500 5.5.2',
        'EHLO client.test → 250',
        'MAIL FROM:<s\t@example.com> → 500 5.5.2',
        'MAIL FROM:<s@example.com>\rRCPT TO:<a@mayfly.test> → 500 5.5.2',
      ],
    }),
  )('understands: %s', async (_name, steps) => {
    await playSmtp(smtp.port, steps);
  });

  test.each<[string, string, string]>([
    ['SIZE within the limit', 'MAIL FROM:<s@example.com> SIZE=1000', '250 2.1.0'],
    ['SIZE above the limit', `MAIL FROM:<s@example.com> SIZE=${50 * 1024 * 1024 + 1}`, '552 5.3.4'],
    ['SIZE of twenty digits', 'MAIL FROM:<s@example.com> SIZE=99999999999999999999', '552 5.3.4'],
    ['SIZE of too many digits', 'MAIL FROM:<s@example.com> SIZE=999999999999999999999', '501 5.5.4'],
    ['SIZE without a value', 'MAIL FROM:<s@example.com> SIZE', '501 5.5.4'],
    ['SIZE twice', 'MAIL FROM:<s@example.com> SIZE=1 SIZE=1', '501 5.5.4'],
    ['BODY=8BITMIME', 'MAIL FROM:<s@example.com> body=8bitmime', '250 2.1.0'],
    ['BODY=BINARYMIME', 'MAIL FROM:<s@example.com> BODY=BINARYMIME', '501 5.5.4'],
    ['BODY without a value', 'MAIL FROM:<s@example.com> BODY', '501 5.5.4'],
    ['SMTPUTF8 with a value', 'MAIL FROM:<s@example.com> SMTPUTF8=1', '501 5.5.4'],
    ['AUTH=', 'MAIL FROM:<s@example.com> AUTH=<>', '555 5.5.4'],
    ['an unknown parameter', 'MAIL FROM:<s@example.com> FOO=BAR', '555 5.5.4'],
    ['no colon', 'MAIL <s@example.com>', '501 5.5.4'],
    ['no address', 'MAIL FROM:', '501 5.1.7'],
    ['no brackets', 'MAIL FROM:s@example.com', '501 5.1.7'],
    ['words behind the address', 'MAIL FROM:<s@example.com>SIZE=1', '501 5.1.7'],
    ['no domain', 'MAIL FROM:<pepe>', '501 5.1.7'],
    ['the null sender', 'MAIL FROM:<>', '250 2.1.0'],
    ['a source route', 'MAIL FROM:<@one.example,@two.example:s@example.com>', '250 2.1.0'],
    ['a quoted local part with spaces', 'MAIL FROM:<"a > b"@example.com>', '250 2.1.0'],
    ['letters beyond ASCII', 'MAIL FROM:<jörg@example.com>', '553 5.6.7'],
    ['the same with SMTPUTF8', 'MAIL FROM:<jörg@exämple.com> SMTPUTF8', '250 2.1.0'],
  ])('MAIL with %s', async (_name, send, reply) => {
    await playSmtp(smtp.port, [...hello, { send, expect: reply }]);
  });

  test('takes a whole dialogue that a client sends at once before it closes its side', async () => {
    const client = await smtpClient(smtp.port);
    const sideClosed = new Promise((resolve) => client.socket.once('finish', resolve));
    // Storing takes longer than the news of the closed side.
    smtp.receiver.beforeTake = async () => {
      await sideClosed;
      await turns(20);
    };
    client.socket.end(
      'EHLO c\r\nMAIL FROM:<s@example.com>\r\nRCPT TO:<a@mayfly.test>\r\nDATA\r\nhi\r\n.\r\nNOOP\r\nQUI',
    );
    await client.play([{ expect: [220, 250, 250, 250, 354, '250 2.0.0', '250 2.0.0'] }]);
    // The line without its end is no command.
    expect(await client.closed()).toBe('');
    expect(smtp.receiver.mails).toHaveLength(1);
  });

  const REQUESTS = ['GET / HTTP/1.1', 'post /x HTTP/1.1', 'CONNECT example.com:25 HTTP/1.1'];
  test.each(REQUESTS)('ends at once for a browser: %s', async (line) => {
    const client = await smtpClient(smtp.port);
    await client.play(['→ 220', `${line}\r\nHost: x\r\n\r\nEHLO x\r\nMAIL FROM:<s@example.com> → 500 5.5.1`]);
    expect(await client.closed()).toBe('');
  });

  test('replies are lines of 7-bit text, at most 512 octets', async () => {
    const client = await smtpClient(smtp.port);
    const long = 'ü'.repeat(700);
    await client.send(
      `EHLO ${'h'.repeat(300)}\r\n${long}\r\nMAIL FROM:<${long}@x>\r\nVRFY ${long}\r\nQUIT\r\n`,
    );
    for (const line of (await client.closed()).split('\r\n')) {
      expect(line).toMatch(/^(?:\d{3}[ -][ -~]{0,506})?$/);
    }
  });
});

const rcpt = (address: string, reply: number | string | RegExp): Step => ({
  send: `RCPT TO:<${address}>`,
  expect: reply,
});

describe('RCPT decides', () => {
  test.each<[string, string, string | RegExp]>([
    ['a live inbox', 'a@mayfly.test', '250 2.1.5'],
    ['an address that nobody has', 'nobody@mayfly.test', '550 5.1.1 No such inbox here'],
    ['a domain that is not served', 'a@example.org', '550 5.1.1 No such inbox here'],
    ['a full inbox', 'full@mayfly.test', '452 4.2.2'],
    ['a storage that is down', 'down@mayfly.test', /^451 4\.3\.0 Temporary trouble here, try again later$/],
    ['a defect of ours', 'broken@mayfly.test', /^451 4\.3\.0 Temporary trouble here, try again later$/],
    ['no domain', 'pepe', '501 5.1.3'],
    ['nothing', '', '501 5.1.3'],
    ['two addresses', 'a@mayfly.test,b@mayfly.test', '501 5.1.3'],
    ['a percent hack', 'a%b@mayfly.test', '550 5.1.1'],
    ['an @ inside quotes', '"a@b"@mayfly.test', '550 5.1.1'],
    ['a source route', '@relay.example:a@mayfly.test', '250 2.1.5'],
    ['letters beyond ASCII', 'ünder@mayfly.test', '553 5.6.7'],
    ['postmaster', 'postmaster@mayfly.test', '550 5.1.1'],
    ['a bare postmaster', 'Postmaster', '550 5.1.1'],
  ])('for %s', async (_name, address, reply) => {
    await playSmtp(smtp.port, [...withSender, rcpt(address, reply)]);
  });

  test('by the declared size too', async () => {
    await playSmtp(smtp.port, [
      ...hello,
      'MAIL FROM:<s@example.com> SIZE=2000 → 250',
      rcpt('small@mayfly.test', '552 5.3.4'),
      rcpt('a@mayfly.test', 250),
    ]);
  });

  test('with SMTPUTF8 for letters beyond ASCII', async () => {
    await playSmtp(smtp.port, [
      ...hello,
      'MAIL FROM:<s@example.com> SMTPUTF8 → 250',
      rcpt('ünder@mayfly.test', '250 2.1.5'),
      { send: Buffer.from('RCPT TO:<\xfcnder@mayfly.test>\r\n', 'latin1'), expect: '501 5.1.3' },
      'DATA → 354',
      '. → 250',
    ]);
    expect(rcptTo()).toEqual([['ünder@mayfly.test']]);
  });

  test.each(['NOTIFY=NEVER', 'FOO'])('without the parameter %s', async (parameter) => {
    await playSmtp(smtp.port, [...withSender, `RCPT TO:<a@mayfly.test> ${parameter} → 555 5.5.4`]);
  });

  test('for at most 100; the 101st gets 452 and the hundred stay', async () => {
    const hundred = Array.from({ length: 100 }, (_, i) => rcpt(`inbox${i}@mayfly.test`, 250));
    const more = Array.from({ length: 1500 }, (_, i) => `RCPT TO:<more${i}@mayfly.test>\r\n`).join('');
    await playSmtp(smtp.port, [
      ...withSender,
      ...hundred,
      rcpt('b@mayfly.test', '452 4.5.3'),
      { send: Buffer.from(more), expect: Array.from({ length: 1500 }, () => '452 4.5.3') },
      'DATA → 354',
      '. → 250',
    ]);
    expect(smtp.receiver.mails[0]?.recipients).toHaveLength(100);
  });
});

describe('postmaster, where configured', () => {
  test.each(['postmaster', 'PostMaster', 'postmaster@mayfly.test', 'POSTMASTER@MAYFLY.TEST'])(
    'is accepted as %s, and kept nowhere',
    async (address) => {
      await playSmtp(withPostmaster.port, [...hello, ...mailTo(address)]);
      expect(withPostmaster.receiver.mails).toEqual([]);
    },
  );

  test('may share a mail with an inbox, and is not another domain’s', async () => {
    await playSmtp(withPostmaster.port, [
      ...withSender,
      rcpt('postmaster', 250),
      rcpt('postmaster@example.org', '550 5.1.1'),
      rcpt('a@mayfly.test', 250),
      'DATA → 354',
      'x\r\n. → 250',
    ]);
    expect(withPostmaster.receiver.mails[0]?.recipients.map((r) => r.address)).toEqual(['a@mayfly.test']);
  });
});

describe('a refusal is remembered with the reply that was given', () => {
  test('at RCPT', async () => {
    const refused = [rcpt('nobody@mayfly.test', 550), rcpt('full@mayfly.test', 452)];
    await playSmtp(smtp.port, [...withSender, ...refused, rcpt('down@mayfly.test', 451)]);
    const sender = { mailFrom: 'sender@example.com', helo: 'client.test', remoteAddress: '127.0.0.1' };
    expect(smtp.receiver.refusals).toMatchObject([
      { ...sender, address: 'nobody@mayfly.test', reply: '550 5.1.1 No such inbox here' },
      { ...sender, address: 'full@mayfly.test', reply: '452 4.2.2 Inbox is full' },
      { ...sender, address: 'down@mayfly.test', reply: expect.stringMatching(/^451 4\.3\.0 /) },
    ]);
    expect(smtp.metrics.codes.slice(-3)).toEqual([550, 452, 451]);
  });

  test('at DATA, for each recipient', async () => {
    await playSmtp(smtp.port, [
      ...withSender,
      rcpt('a@mayfly.test', 250),
      rcpt('b@mayfly.test', 250),
      'DATA → 354',
      'bare\nline\r\n. → 550 5.6.11',
    ]);
    const reply = '550 5.6.11 Bare CR or LF in the message';
    expect(smtp.receiver.refusals).toMatchObject([
      { address: 'a@mayfly.test', reply },
      { address: 'b@mayfly.test', reply },
    ]);
  });
});
