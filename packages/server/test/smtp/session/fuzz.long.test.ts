import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { SMTP_LIMITS } from '../../../src/smtp/limits.ts';
import { runs, timeLimit } from '../../support/form.ts';
import { CAPTURING } from '../start-smtp.ts';
import { cut, type DriveOptions, Driver, traces } from './drive.ts';

/*
 * Hostile byte streams against an application that answers late, or oddly, in connections that end at any time. The
 * short form always runs the same cases; the long form (TEST_FORM=long) runs 100,000 new ones. Where messages end is
 * in data-reader.test.ts.
 */

/** Limits that short dialogues meet. */
const SMALL_LIMITS = {
  ...{ ...SMTP_LIMITS, maxRecipients: 3, maxErrors: 20, maxAuthFailures: 2, maxCommandsPerMail: 40 },
  ...{ maxCommandBytes: 64, maxSkippedLineBytes: 300, maxDrainedBytes: 400 },
};
const SMALL_MESSAGE_BYTES = 200;

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Bytes of messages: all that may matter to their end and to their dots. */
const body = fc
  .array(
    fc.constantFrom(
      '.',
      ...'..|\r|\n|\r\n|\r\n.|\r\n..\r\n|\n.\n|\n.\r\n|\r.\r|\0|text|\xfc'.split('|'),
      'x'.repeat(90),
    ),
    { maxLength: 12, size: 'max' },
  )
  .map((parts) => parts.join(''));

const weighted = (weight: number, arbitrary: fc.Arbitrary<string>) => ({ weight, arbitrary });
const anyBytes = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes).toString('latin1'));

/** One line of a client, or several that belong together, as latin1; well-formed ones are the most frequent. */
const exchange = fc.oneof(
  weighted(
    8,
    fc.constantFrom(
      ...['EHLO client.test\r\n', 'HELO client.test\r\n', 'MAIL FROM:<s@example.com>\r\n', 'NOOP\r\n'],
      ...['RCPT TO:<a@mayfly.test>\r\n', 'RCPT TO:<no@mayfly.test>\r\n', 'DATA\r\n', '.\r\n', 'RSET\r\n'],
    ),
  ),
  weighted(
    8,
    body.map(
      (text) => `RSET\r\nMAIL FROM:<s@example.com>\r\nRCPT TO:<a@mayfly.test>\r\nDATA\r\n${text}\r\n.\r\n`,
    ),
  ),
  weighted(
    3,
    fc.constantFrom(
      `AUTH PLAIN ${base64('\0user\0right')}\r\n`,
      `AUTH PLAIN ${base64('\0user\0wrong')}\r\n`,
      `AUTH LOGIN\r\n${base64('user')}\r\n${base64('right')}\r\n`,
      `AUTH LOGIN ${base64('user')}\r\n${base64('wrong')}\r\n`,
      ...['AUTH PLAIN\r\n*\r\n', 'AUTH PLAIN =\r\n', 'AUTH CRAM-MD5\r\n'],
      `AUTH PLAIN ${'A'.repeat(600)}\r\n`,
    ),
  ),
  weighted(
    3,
    fc.constantFrom(
      ...['MAIL FROM:<s@example.com> SIZE=9999999\r\n', 'MAIL FROM:<j\xf6rg@example.com>\r\n'],
      ...['RCPT TO:<>\r\n', 'EHLO\r\n', 'VRFY\r\n', 'HELP\r\n', 'QUIT now\r\n', 'BDAT 3 LAST\r\n', 'NOOP\n'],
      ...['DATA\n.\r\n', 'NO\0OP\r\n', 'NOOP\r\r\n', '\r\n', '\n', 'STARTTLS now\r\n'],
    ),
  ),
  weighted(1, fc.constantFrom('QUIT\r\n', 'STARTTLS\r\n', 'GET / HTTP/1.1\r\n', 'PROXY UNKNOWN\r\n')),
  weighted(
    1,
    fc.integer({ min: 50, max: 80 }).map((length) => `NOOP ${'x'.repeat(length - 5)}\r\n`),
  ),
  weighted(
    1,
    fc.integer({ min: 280, max: 320 }).map((length) => `${'x'.repeat(length)}\r\n`),
  ),
  weighted(1, anyBytes(40)),
);

/** Everything that one client sends. */
const dialogue: fc.Arbitrary<string> = fc
  .tuple(fc.integer({ min: 0, max: 9 }), fc.array(exchange, { maxLength: 25, size: 'max' }))
  .map(([silent, parts]) => `${silent > 0 ? 'EHLO client.test\r\n' : ''}${parts.join('')}`);

type End = 'client' | 'loss' | 'shutdown' | 'limit';

interface Choices {
  /** Bytes of each piece; used in a circle, as all of these. */
  pieces: number[];
  /** What the application answers: by index, modulo how many answers there are. */
  answers: number[];
  /** How many turns of the event loop an answer takes. */
  delays: number[];
  /** After how many bytes the connection ends, and how. */
  end: { at: number; by: End } | null;
}

const choices = fc.record<Choices>({
  pieces: fc.array(fc.oneof(fc.nat(5), fc.nat(100), fc.nat(3000)), { minLength: 1, maxLength: 10 }),
  answers: fc.array(fc.nat(9), { minLength: 1, maxLength: 10 }),
  delays: fc.array(fc.constantFrom(0, 0, 0, 0, 1, 2), { minLength: 1, maxLength: 10 }),
  end: fc.option(
    fc.record({ at: fc.nat(1500), by: fc.constantFrom<End>('client', 'loss', 'shutdown', 'limit') }),
  ),
});

const LATER = { code: 451, text: '4.7.1 Greylisted' };
const BYE = { code: 421, text: '4.3.2 Fault' };
const down = new AppError('unavailable', 'down');
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** An application that answers as drawn. */
function application({ answers, delays }: Choices, bareLineEndings: 'refuse' | 'normalise'): DriveOptions {
  let turns = 0;
  let at = 0;
  const draw = async <T>(...all: (T | AppError)[]): Promise<T> => {
    for (let left = delays[turns++ % delays.length] ?? 0; left > 0; left--) await turn();
    const answer = all[(answers[at++ % answers.length] ?? 0) % all.length] as T | AppError;
    if (answer instanceof AppError) throw answer;
    return answer;
  };
  const inbox = { inboxId: 'inb_1', accountId: 'acc_1', address: 'a@mayfly.test', maxMessages: 9 };
  return {
    bareLineEndings,
    limits: SMALL_LIMITS,
    findCaptureTarget: () => draw(CAPTURING, undefined, down),
    receiver: {
      async accept(rcptTo) {
        const none = new AppError('unknown_recipient', 'none');
        const hasFaults = await draw(false, false, true, none, down);
        const recipient = { ...inbox, rcptTo, maxMessageBytes: SMALL_MESSAGE_BYTES };
        return hasFaults ? { ...recipient, faultsOf: inbox.address } : recipient;
      },
      async meetFault(_, point) {
        const reply = await draw(undefined, undefined, LATER, LATER, BYE, down);
        return reply && { rule: 1, at: point, reply, delayMs: 0, disconnect: false };
      },
    },
  };
}

/** Lets the connection end as drawn. */
async function end(driver: Driver, by: End): Promise<void> {
  if (driver.isHandshaking) await driver.secured();
  if (by === 'limit') driver.session.close({ code: 421, enhanced: '4.4.2', text: 'Too slow' });
  if (by === 'shutdown') driver.session.leave();
  if (by === 'loss') {
    driver.session.ended();
    driver.closed = true;
  }
  await driver.finish();
  await turn();
}

/** Pushes pieces; a handshake is complete at once, and then nothing is known that came before. */
async function feed(driver: Driver, pieces: Buffer[]): Promise<void> {
  await driver.idle();
  for (const piece of pieces) {
    if (driver.closed) return;
    await driver.push(piece);
    if (!driver.isHandshaking) continue;
    const before = driver.output.length;
    await driver.secured();
    await driver.push('MAIL FROM:<s@example.com>\r\n');
    // Or it was the last error, or command, that was allowed.
    expect(driver.output.slice(before)).toMatch(
      /^(?:503 5\.5\.1 [^\r]*\r\n(?:421 [^\r]*\r\n)?|421 [^\r]*\r\n)$/,
    );
  }
}

/** Plays a stream byte by byte and in the drawn pieces. @returns how many messages were stored */
async function check(text: string, drawn: Choices, normalises: boolean): Promise<number> {
  const whole = Buffer.from(text, 'latin1');
  const stream = drawn.end ? whole.subarray(0, drawn.end.at) : whole;
  const offsets: number[] = [];
  for (let at = 0, i = 0; at < stream.length; i++) {
    at += 1 + (drawn.pieces[i % drawn.pieces.length] ?? 0);
    if (at < stream.length) offsets.push(at);
  }
  const play = async (pieces: Buffer[]): Promise<Driver> => {
    const driver = new Driver(application(drawn, normalises ? 'normalise' : 'refuse'));
    await feed(driver, pieces);
    await end(driver, drawn.end?.by ?? 'client');
    expect(driver.output).toMatch(/^(?:\d{3}[ -][ -~]{0,506}\r\n)*$/);
    expect([driver.closed, driver.defects, driver.budget.held]).toEqual([true, [], 0]);
    return driver;
  };
  const driver = await play(cut(stream, [...stream.keys()]));
  const other = await play(cut(stream, offsets));
  // What a piece holds behind STARTTLS is discarded, so only sessions in plaintext are alike.
  if (!/STARTTLS/i.test(text)) expect(traces(other)).toEqual(traces(driver));
  return driver.mails.length;
}

const streams = fc.oneof(
  weighted(8, dialogue),
  weighted(1, anyBytes(400)),
  weighted(1, fc.string({ unit: 'binary-ascii', maxLength: 400 })),
);

it(
  'any byte stream meets no defect, has the same results in any pieces, and leaves no memory behind',
  async () => {
    let messages = 0;
    const property = fc.asyncProperty(streams, choices, fc.boolean(), async (stream, drawn, normalises) => {
      messages += await check(stream, drawn, normalises);
    });
    await fc.assert(property, runs(1_000, 100_000));
    // Otherwise the streams are not about what they should be about.
    expect(messages).toBeGreaterThan(200);
  },
  timeLimit(1_200_000),
);
