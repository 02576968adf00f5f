import { describe, expect, test } from 'vitest';
import { playSmtp, type Step } from '../support/smtp-script.ts';
import { hello, mailTo, useSmtp, withSender } from './start-smtp.ts';

const smtp = useSmtp();
const withPostmaster = useSmtp({ postmaster: 'log' });

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
    expect(smtp.receiver.mails[0]?.recipients.map((r) => r.rcptTo)).toEqual(['ünder@mayfly.test']);
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
    await playSmtp(smtp.port, [
      ...withSender,
      rcpt('nobody@mayfly.test', 550),
      rcpt('full@mayfly.test', 452),
      rcpt('down@mayfly.test', 451),
    ]);
    expect(smtp.receiver.refusals).toMatchObject([
      {
        address: 'nobody@mayfly.test',
        reply: '550 5.1.1 No such inbox here',
        mailFrom: 'sender@example.com',
      },
      { address: 'full@mayfly.test', reply: '452 4.2.2 Inbox is full', helo: 'client.test' },
      {
        address: 'down@mayfly.test',
        reply: expect.stringMatching(/^451 4\.3\.0 /),
        remoteAddress: '127.0.0.1',
      },
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
    expect(smtp.receiver.refusals.map(({ address, reply }) => [address, reply])).toEqual([
      ['a@mayfly.test', '550 5.6.11 Bare CR or LF in the message'],
      ['b@mayfly.test', '550 5.6.11 Bare CR or LF in the message'],
    ]);
  });
});
