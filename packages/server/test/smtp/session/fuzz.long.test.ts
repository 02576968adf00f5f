import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { runs, timeLimit } from '../../support/form.ts';
import { CAPTURING } from '../start-smtp.ts';
import { dialogue, SMALL_LIMITS, SMALL_MESSAGE_BYTES } from './dialogues.ts';
import { cut, type DriveOptions, Driver, traces } from './drive.ts';
import { judge } from './message-oracle.ts';

/*
 * Hostile byte streams against an application that answers late, or oddly, in connections that end at any time. The
 * short form always runs the same cases; the long form (MAYFLY_TEST_LONG=1) runs 100,000 new ones. What it fails on
 * is kept in fuzz-failures.json, with which every later run begins.
 */

interface Choices {
  /** Bytes of each piece; used in a circle, as all of these. */
  pieces: number[];
  /** What the application answers: by index, modulo how many answers there are. */
  answers: number[];
  /** How many turns of the event loop an answer takes. */
  delays: number[];
  /** After how many bytes the connection ends, and how. */
  end: { at: number; by: 'client' | 'loss' | 'shutdown' | 'limit' } | null;
}

const choices = fc.record<Choices>({
  pieces: fc.array(fc.oneof(fc.nat(5), fc.nat(100), fc.nat(3000)), { minLength: 1, maxLength: 10 }),
  answers: fc.array(fc.nat(9), { minLength: 1, maxLength: 10 }),
  delays: fc.array(fc.constantFrom(0, 0, 0, 0, 1, 2), { minLength: 1, maxLength: 10 }),
  end: fc.option(
    fc.record({
      at: fc.nat(1500),
      by: fc.constantFrom('client' as const, 'loss' as const, 'shutdown' as const, 'limit' as const),
    }),
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
async function end(driver: Driver, by: NonNullable<Choices['end']>['by']): Promise<void> {
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
async function feed(driver: Driver, pieces: Buffer[], seen = (_bytes: number) => {}): Promise<void> {
  await driver.idle();
  for (const piece of pieces) {
    if (driver.closed) return;
    await driver.push(piece);
    seen(piece.length);
    if (!driver.isHandshaking) continue;
    const before = driver.output.length;
    await driver.secured();
    await driver.push('MAIL FROM:<s@example.com>\r\n');
    // Or it was the last error, or command, that was allowed.
    expect(driver.output.slice(before)).toMatch(
      /^(?:503 5\.5\.1 [^\r]*\r\n(?:421 [^\r]*\r\n)?|421 [^\r]*\r\n)$/,
    );
    seen(0);
  }
}

/** Feeds a stream byte by byte, and holds each message against the oracle. @returns how many there were */
async function attack(driver: Driver, stream: Buffer, normalises: boolean): Promise<number> {
  const text = stream.toString('latin1');
  let messages = 0;
  let read = 0;
  let written = 0;
  /** Where the bytes of a message begin, and how many mails there were then. */
  let data: { from: number; mails: number } | undefined;
  await feed(driver, cut(stream, [...stream.keys()]), (bytes) => {
    read += bytes;
    const output = driver.output.slice(written);
    written = driver.output.length;
    expect(output).toMatch(/^(?:\d{3}[ -][ -~]{0,506}\r\n)*$/);
    if (data && output !== '') {
      const { from, mails } = data;
      data = undefined;
      // A session that ends gives up a refused message, of which so much was thrown away.
      if (read - from >= SMALL_LIMITS.maxDrainedBytes) return;
      const verdict = judge(text.slice(from), SMALL_MESSAGE_BYTES, normalises);
      const refusal = /^55[02] (?:5\.6\.11|5\.3\.4)/.test(output) ? output.slice(0, 3) : undefined;
      const stored = driver.mails.slice(mails);
      if (stored.length > 0 || refusal) messages++;
      expect(stored.length <= 1 && read - from).toBe(verdict?.length);
      if (stored.length > 0 || refusal) expect(stored[0] ?? refusal).toBe(verdict?.message);
    }
    // A lone dot is no end behind a DATA command that ended with a bare LF.
    if (/^354 /m.test(output) && text.slice(0, read).endsWith('\r\n'))
      data = { from: read, mails: driver.mails.length };
  });
  if (data && !driver.closed)
    expect(judge(text.slice(data.from), SMALL_MESSAGE_BYTES, normalises)).toBeUndefined();
  return messages;
}

async function check(text: string, drawn: Choices, normalises: boolean): Promise<number> {
  const policy = normalises ? 'normalise' : 'refuse';
  const whole = Buffer.from(text, 'latin1');
  const stream = drawn.end ? whole.subarray(0, drawn.end.at) : whole;
  const driver = new Driver(application(drawn, policy));
  const messages = await attack(driver, stream, normalises);
  await end(driver, drawn.end?.by ?? 'client');
  expect([driver.closed, driver.defects, driver.budget.held]).toEqual([true, [], 0]);

  const other = new Driver(application(drawn, policy));
  const offsets: number[] = [];
  for (let at = 0, i = 0; at < stream.length; i++) {
    at += 1 + (drawn.pieces[i % drawn.pieces.length] ?? 0);
    offsets.push(at);
  }
  await feed(
    other,
    cut(
      stream,
      offsets.filter((at) => at < stream.length),
    ),
  );
  await end(other, drawn.end?.by ?? 'client');
  // What a piece holds behind STARTTLS is discarded, so only sessions in plaintext are alike.
  if (!/STARTTLS/i.test(text)) expect(traces(other)).toEqual(traces(driver));
  return messages;
}

const streams = fc.oneof(
  { weight: 8, arbitrary: dialogue },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary-ascii', maxLength: 400 }) },
);

interface Failure {
  /** Of the run that found it. */
  seed: number;
  /** latin1. */
  stream: string;
  choices: Choices;
  normalises: boolean;
}
const FAILURES = new URL('fuzz-failures.json', import.meta.url);
const failures: Failure[] = JSON.parse(readFileSync(FAILURES, 'utf8'));

describe('any byte stream', () => {
  it.each(failures)('that failed once: $seed', async ({ stream, choices: drawn, normalises }) => {
    await check(stream, drawn, normalises);
  });

  it(
    'meets no defect, ends DATA by CRLF.CRLF only, is not answered in plaintext after STARTTLS, and leaves no memory behind',
    async () => {
      let messages = 0;
      const property = fc.asyncProperty(streams, choices, fc.boolean(), async (stream, drawn, normalises) => {
        messages += await check(stream, drawn, normalises);
      });
      const details = await fc.check(property, runs(1_000, 100_000));
      if (!details.failed) {
        // Otherwise the streams are not about what they should be about.
        expect(messages).toBeGreaterThan(250);
        return;
      }
      const [stream = '', drawn, normalises] = details.counterexample ?? [];
      const failure = { seed: details.seed, stream, choices: drawn, normalises };
      writeFileSync(FAILURES, `${JSON.stringify([...failures, failure], null, 2)}\n`);
      throw new Error(fc.defaultReportMessage(details));
    },
    timeLimit(1_200_000),
  );
});
