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

const base64 = (text: string) => Buffer.from(text).toString('base64');
const MESSAGE = 'Subject: x\r\n\r\ntext\r\n.\r\n';

const greet = (model: Model): number[] => {
  Object.assign(model, { greeted: true, recipients: null });
  return [250];
};

/** The line, and what it does: changes the model and tells the codes of its replies. */
const COMMANDS: Record<string, { line: string; apply(model: Model): number[] }> = {
  EHLO: { line: 'EHLO client.test\r\n', apply: greet },
  HELO: { line: 'HELO client.test\r\n', apply: greet },
  'EHLO without a name': { line: 'EHLO\r\n', apply: () => [501] },
  MAIL: {
    line: 'MAIL FROM:<s@example.com>\r\n',
    apply(model) {
      if (!model.greeted || model.recipients !== null) return [503];
      model.recipients = 0;
      return [250];
    },
  },
  'MAIL that is too large': {
    line: 'MAIL FROM:<s@example.com> SIZE=99999999\r\n',
    apply: ({ greeted, recipients }) => [!greeted || recipients !== null ? 503 : 552],
  },
  RCPT: {
    line: 'RCPT TO:<a@mayfly.test>\r\n',
    apply(model) {
      if (!model.greeted || model.recipients === null) return [503];
      model.recipients++;
      return [250];
    },
  },
  'RCPT of nobody': {
    line: 'RCPT TO:<nobody@mayfly.test>\r\n',
    apply: ({ greeted, recipients }) => [!greeted || recipients === null ? 503 : 550],
  },
  'DATA and a message': {
    line: 'DATA\r\n',
    apply(model) {
      if (!model.greeted || !model.recipients) return [503];
      model.recipients = null;
      return [354, 250];
    },
  },
  RSET: {
    line: 'RSET\r\n',
    apply(model) {
      model.recipients = null;
      return [250];
    },
  },
  NOOP: { line: 'NOOP\r\n', apply: () => [250] },
  VRFY: { line: 'VRFY a@mayfly.test\r\n', apply: () => [252] },
  HELP: { line: 'HELP\r\n', apply: () => [214] },
  unknown: { line: 'WHAT\r\n', apply: () => [500] },
  'AUTH that succeeds': {
    line: `AUTH PLAIN ${base64('\0user\0right')}\r\n`,
    apply(model) {
      if (!model.greeted || model.authenticated || model.recipients !== null) return [503];
      model.authenticated = true;
      return [235];
    },
  },
  'AUTH that fails': {
    line: `AUTH LOGIN\r\n${base64('user')}\r\n${base64('wrong')}\r\n`,
    apply({ greeted, authenticated, recipients }) {
      // Where it is not begun, the lines behind it are commands.
      const refused = !greeted || authenticated || recipients !== null;
      return refused ? [503, 500, 500] : [334, 334, 535];
    },
  },
  'AUTH that is cancelled': {
    line: 'AUTH PLAIN\r\n*\r\n',
    apply({ greeted, authenticated, recipients }) {
      return !greeted || authenticated || recipients !== null ? [503, 500] : [334, 501];
    },
  },
  STARTTLS: {
    line: 'STARTTLS\r\n',
    apply(model) {
      if (model.tls) return [503];
      Object.assign(model, { tls: true, greeted: false, authenticated: false, recipients: null });
      return [220];
    },
  },
  QUIT: {
    line: 'QUIT\r\n',
    apply(model) {
      model.closed = true;
      return [221];
    },
  },
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
        const model: Model = {
          tls: false,
          greeted: false,
          authenticated: false,
          recipients: null,
          closed: false,
        };
        await driver.idle();
        for (const name of chosen) {
          const { line, apply } = COMMANDS[name] ?? { line: '', apply: () => [] };
          const before = driver.output.length;
          const expected = model.closed ? [] : apply(model);
          await driver.push(line);
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
