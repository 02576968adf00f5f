import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AppError } from '../../../src/errors.ts';
import { runs, timeLimit } from '../../support/form.ts';
import { CAPTURING } from '../start-smtp.ts';
import { dialogue, SMALL_LIMITS, SMALL_MESSAGE_BYTES } from './dialogues.ts';
import { cut, type DriveOptions, Driver, traces } from './drive.ts';

/*
 * Hostile byte streams against an application that answers late, or oddly, in connections that end at any time. The
 * short form always runs the same cases; the long form (TEST_FORM=long) runs 100,000 new ones. Where messages end is
 * in data-reader.test.ts.
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
  const [byBytes, byPieces] = [[...stream.keys()], offsets].map((at) => cut(stream, at)) as [
    Buffer[],
    Buffer[],
  ];
  const play = async (pieces: Buffer[]): Promise<Driver> => {
    const driver = new Driver(application(drawn, normalises ? 'normalise' : 'refuse'));
    await feed(driver, pieces);
    await end(driver, drawn.end?.by ?? 'client');
    expect(driver.output).toMatch(/^(?:\d{3}[ -][ -~]{0,506}\r\n)*$/);
    expect([driver.closed, driver.defects, driver.budget.held]).toEqual([true, [], 0]);
    return driver;
  };
  const driver = await play(byBytes);
  const other = await play(byPieces);
  // What a piece holds behind STARTTLS is discarded, so only sessions in plaintext are alike.
  if (!/STARTTLS/i.test(text)) expect(traces(other)).toEqual(traces(driver));
  return driver.mails.length;
}

const streams = fc.oneof(
  { weight: 8, arbitrary: dialogue },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  },
  { weight: 1, arbitrary: fc.string({ unit: 'binary-ascii', maxLength: 400 }) },
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
