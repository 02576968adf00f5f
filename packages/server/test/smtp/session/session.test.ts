import { describe, expect, it } from 'vitest';
import { ByteBudget } from '../../../src/inbound/incoming-mail.ts';
import type { Refusal } from '../../../src/refusals/sql.ts';
import { SmtpVisits } from '../../../src/smtp/reports.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { Driver, say } from './drive.ts';

/* What only a session in memory shows; what a client sees is tested over sockets in the other files of smtp/. */

const HELLO = 'EHLO client.test\r\n';
const MAIL = 'MAIL FROM:<s@example.com>\r\nRCPT TO:<a@mayfly.test>\r\nDATA\r\n';

/** The last lines of all replies, less the greeting. */
const replies = (output: string): string[] => output.match(/^\d{3} .*(?=\r)/gm)?.slice(1) ?? [];
const codes = (output: string): string =>
  replies(output)
    .map((line) => line.slice(0, 3))
    .join(' ');

it('a message whose last bytes wait for memory when its sender leaves is not stored', async () => {
  const budget = new ByteBudget({ capacity: 1_000_000, largest: 1_000_000, clock: new FakeClock() });
  const another = budget.open('another', () => undefined);
  budget.take(another, 900_000);
  const driver = new Driver({ budget });
  await driver.push(`${HELLO}${MAIL}`);
  void driver.push(`${'x'.repeat(99_998)}\r\n.\r\n`);
  await new Promise((resolve) => setImmediate(resolve));
  expect(driver.session.isWaiting).toBe(true);
  driver.session.close();
  await driver.finish();
  expect([driver.mails, codes(driver.output)]).toEqual([[], '250 250 250 354']);
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
