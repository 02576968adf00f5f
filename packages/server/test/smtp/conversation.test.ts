import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { playSmtp, type Step } from '../support/smtp-script.ts';
import { type StartedSmtp, startSmtp, upToData } from './start-smtp.ts';

let smtp: StartedSmtp;
beforeAll(async () => {
  smtp = await startSmtp({ postmaster: 'log' });
});
afterAll(() => smtp.stop());
beforeEach(() => {
  smtp.receiver.mails.length = 0;
  smtp.receiver.refusals.length = 0;
});

const hello: Step[] = [{ expect: 220 }, { send: 'EHLO client.test', expect: 250 }];
const withSender: Step[] = [...hello, { send: 'MAIL FROM:<s@example.com>', expect: '250 2.1.0' }];

describe('a mail', () => {
  test('reaches the receiver byte for byte, with its envelope', async () => {
    await playSmtp(smtp.port, [
      ...upToData,
      { send: 'DATA', expect: 354 },
      { send: 'Subject: hi\r\n\r\n..stuffed\r\n..\r\n...\r\nend' },
      { send: '.', expect: '250 2.0.0' },
      { send: 'QUIT', expect: '221 2.0.0' },
    ]);
    const [mail] = smtp.receiver.mails;
    expect(mail?.bytes.toString()).toBe('Subject: hi\r\n\r\n.stuffed\r\n.\r\n..\r\nend\r\n');
    expect(mail?.envelope).toEqual({
      mailFrom: 'sender@example.com',
      helo: 'client.test',
      remoteAddress: '127.0.0.1',
      tls: false,
    });
    expect(mail?.recipients.map((r) => r.rcptTo)).toEqual(['a@mayfly.test']);
    expect(mail?.session).toMatch(/^[0-9a-v]{16}$/);
  });

  test('is given to all recipients that were accepted, tags and case as given', async () => {
    await playSmtp(smtp.port, [
      ...withSender,
      { send: 'RCPT TO:<A+one@Mayfly.Test>', expect: '250 2.1.5' },
      { send: 'RCPT TO:<nobody@mayfly.test>', expect: '550 5.1.1' },
      { send: 'RCPT TO:<a+two@mayfly.test>', expect: '250 2.1.5' },
      { send: 'DATA', expect: 354 },
      { send: 'x\r\n.', expect: '250 2.0.0' },
    ]);
    expect(smtp.receiver.mails[0]?.recipients.map((r) => r.rcptTo)).toEqual([
      'A+one@Mayfly.Test',
      'a+two@mayfly.test',
    ]);
  });

  test.each([
    ['an empty one', '', ''],
    ['8-bit octets and NUL', 'Gr\xfc\xdfe \0\x01\x7f\r\n', 'Gr\xfc\xdfe \0\x01\x7f\r\n'],
    ['a line of 100,000 octets', `${'x'.repeat(100_000)}\r\n`, `${'x'.repeat(100_000)}\r\n`],
    ['a first line that is one dot, stuffed', '..\r\n', '.\r\n'],
  ])('may be %s', async (_name, sent, kept) => {
    await playSmtp(smtp.port, [
      ...upToData,
      { send: 'DATA', expect: 354 },
      { send: Buffer.from(`${sent}.\r\n`, 'latin1'), expect: '250 2.0.0' },
    ]);
    expect(smtp.receiver.mails[0]?.bytes.toString('latin1')).toBe(kept);
  });

  test('follows another one on the same connection', async () => {
    const again = upToData.slice(2);
    const mail = [
      { send: 'DATA', expect: 354 },
      { send: 'x\r\n.', expect: 250 },
    ];
    await playSmtp(smtp.port, [...upToData, ...mail, ...again, ...mail, ...again, ...mail]);
    expect(smtp.receiver.mails).toHaveLength(3);
  });
});
