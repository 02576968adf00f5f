import fc from 'fast-check';
import { expect, it } from 'vitest';
import { runs, timeLimit } from '../../support/form.ts';
import { Driver } from './drive.ts';

/*
 * The order of commands (RFC 5321 section 4.1.4, RFC 4954 section 4, RFC 3207 section 4.2) as a model of its own:
 * what is known of the session, and the code that each command gets then.
 */

interface Model {
  tls: boolean;
  greeted: boolean;
  authenticated: boolean;
  /** Accepted recipients; null outside of a transaction. */
  recipients: number | null;
  closed: boolean;
}

const NEW: Model = { tls: false, greeted: false, authenticated: false, recipients: null, closed: false };

const base64 = (text: string) => Buffer.from(text).toString('base64');
const MESSAGE = 'Subject: x\r\n\r\ntext\r\n.\r\n';

const inTransaction = ({ greeted, recipients }: Model): boolean => greeted && recipients !== null;
const mayBegin = ({ greeted, recipients }: Model): boolean => greeted && recipients === null;
const mayAuthenticate = (model: Model): boolean => mayBegin(model) && !model.authenticated;

/** The line without CRLF, the codes of its replies, and what changes if the first of them is no error. */
const COMMANDS: Record<string, [line: string, codes: (model: Model) => number[], change?: Partial<Model>]> = {
  EHLO: ['EHLO client.test', () => [250], { greeted: true, recipients: null }],
  HELO: ['HELO client.test', () => [250], { greeted: true, recipients: null }],
  'EHLO without a name': ['EHLO', () => [501]],
  MAIL: ['MAIL FROM:<s@example.com>', (model) => [mayBegin(model) ? 250 : 503], { recipients: 0 }],
  'MAIL that is too large': [
    'MAIL FROM:<s@example.com> SIZE=99999999',
    (model) => [mayBegin(model) ? 552 : 503],
  ],
  RCPT: ['RCPT TO:<a@mayfly.test>', (model) => [inTransaction(model) ? 250 : 503], { recipients: 1 }],
  'RCPT of nobody': ['RCPT TO:<nobody@mayfly.test>', (model) => [inTransaction(model) ? 550 : 503]],
  'DATA and a message': [
    'DATA',
    ({ greeted, recipients }) => (greeted && recipients ? [354, 250] : [503]),
    { recipients: null },
  ],
  RSET: ['RSET', () => [250], { recipients: null }],
  NOOP: ['NOOP', () => [250]],
  VRFY: ['VRFY a@mayfly.test', () => [252]],
  HELP: ['HELP', () => [214]],
  unknown: ['WHAT', () => [500]],
  'AUTH that succeeds': [
    `AUTH PLAIN ${base64('\0user\0right')}`,
    (model) => [mayAuthenticate(model) ? 235 : 503],
    { authenticated: true },
  ],
  // Where an exchange is not begun, the lines behind AUTH are commands.
  'AUTH that fails': [
    `AUTH LOGIN\r\n${base64('user')}\r\n${base64('wrong')}`,
    (model) => (mayAuthenticate(model) ? [334, 334, 535] : [503, 500, 500]),
  ],
  'AUTH that is cancelled': [
    'AUTH PLAIN\r\n*',
    (model) => (mayAuthenticate(model) ? [334, 501] : [503, 500]),
  ],
  STARTTLS: ['STARTTLS', ({ tls }) => [tls ? 503 : 220], { ...NEW, tls: true }],
  QUIT: ['QUIT', () => [221], { closed: true }],
};

const codesOf = (output: string): number[] =>
  [...output.matchAll(/^(\d{3}) .*\r\n/gm)].map(([, code]) => Number(code));

it(
  'any commands in any order get the replies that the model of a session tells',
  async () => {
    const name = fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom('EHLO', 'MAIL', 'RCPT', 'RCPT', 'DATA and a message') },
      { weight: 20, arbitrary: fc.constantFrom(...Object.keys(COMMANDS).filter((one) => one !== 'QUIT')) },
      { weight: 1, arbitrary: fc.constant('QUIT') },
    );
    const names = fc.array(name, { maxLength: 60, size: 'max' });
    const limits = { maxErrors: 1000, maxAuthFailures: 1000 };
    let transactions = 0;
    await fc.assert(
      fc.asyncProperty(names, async (chosen) => {
        const driver = new Driver({ limits });
        const model: Model = { ...NEW };
        await driver.idle();
        for (const name of chosen) {
          const [line = '', codes = () => [], change] = COMMANDS[name] ?? [];
          const before = driver.output.length;
          const expected = model.closed ? [] : codes(model);
          if ((expected[0] ?? 500) < 400) Object.assign(model, change);
          await driver.push(`${line}\r\n`);
          if (expected[0] === 354) await driver.push(MESSAGE);
          if (expected[0] === 220) await driver.secured();
          expect(codesOf(driver.output.slice(before)), `${name} in ${chosen}`).toEqual(expected);
          if (expected[0] === 354) transactions++;
        }
        expect(driver.output).not.toMatch(/^503 (?!5\.5\.1 )/m);
        expect(driver.closed).toBe(model.closed);
        const offersTls = / STARTTLS\r/;
        expect(offersTls.test(driver.output.split('220 2.0.0 Ready').at(-1) ?? '')).toBe(
          offersTls.test(driver.output) && !model.tls,
        );
      }),
      runs(1_000, 50_000),
    );
    expect(transactions).toBeGreaterThan(100);
  },
  timeLimit(600_000),
);
