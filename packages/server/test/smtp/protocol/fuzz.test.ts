import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_BACKLOG_BYTES, SmtpEngine } from '../../../src/smtp/engine.ts';
import type { ProtocolEvent } from '../../../src/smtp/events.ts';
import { REPLIES, type Reply } from '../../../src/smtp/replies.ts';
import { runs, timeLimit } from '../../support/form.ts';
import { dialogue, SMALL_LIMITS, SMALL_MESSAGE_BYTES } from './dialogues.ts';
import { OPTIONS } from './drive.ts';
import { judge } from './message-oracle.ts';

/*
 * Hostile byte streams against an application that answers late, or oddly. The short form always runs the same
 * cases; the long form (MAYFLY_TEST_LONG=1) runs 100,000 new ones. What it fails on is kept in fuzz-failures.json,
 * with which every later run begins.
 */

/** What the application does at each turn, drawn in advance; used in a circle. */
interface Choices {
  /** Bytes of the next piece. */
  pieces: number[];
  /** What to answer: by index, modulo how many there are. */
  answers: number[];
  /** How many pieces more are pushed before an answer is given. */
  delays: number[];
}

const choices = fc.record<Choices>({
  pieces: fc.array(fc.oneof(fc.nat(5), fc.nat(100), fc.nat(3000)), { minLength: 1, maxLength: 10 }),
  answers: fc.array(fc.nat(9), { minLength: 1, maxLength: 10 }),
  delays: fc.array(fc.oneof(fc.constant(0), fc.nat(4)), { minLength: 1, maxLength: 10 }),
});

const FAULT: Reply = { code: 451, enhanced: '4.7.1', text: 'Greylisted' };
const BYE: Reply = { code: 421, enhanced: '4.3.2', text: 'Fault' };
const RCPT_ANSWERS = [REPLIES.recipientOk, REPLIES.recipientOk, REPLIES.noSuchInbox, FAULT, BYE];
const END_ANSWERS = [REPLIES.stored, REPLIES.stored, REPLIES.tryLater, REPLIES.messageTooLarge, BYE];
const AUTH_ANSWERS = [REPLIES.authenticated, REPLIES.badCredentials, REPLIES.authUnavailable];

/** Pushes a stream into an engine, and checks at each step what must hold at any time. */
class Attack {
  readonly #engine: SmtpEngine;
  readonly #normalises: boolean;
  readonly #choices: Choices;
  /** All that the engine took, as it came. */
  #taken = '';
  #turn = 0;
  #pending: { event: ProtocolEvent; pieces: number } | undefined;
  #dataFrom = -1;
  #message = '';
  #messageRefused = false;
  #handshaking = false;
  #closed = false;
  /** Messages whose end was met. */
  messages = 0;

  constructor(choices: Choices, normalises: boolean) {
    this.#choices = choices;
    this.#normalises = normalises;
    this.#engine = new SmtpEngine({
      ...OPTIONS,
      bareLineEndings: normalises ? 'normalise' : 'refuse',
      limits: SMALL_LIMITS,
    });
    this.#engine.greet();
  }

  run(stream: Buffer): void {
    let at = 0;
    while (at < stream.length) {
      const piece = stream.subarray(at, at + 1 + this.#draw('pieces'));
      at += piece.length;
      this.#push(piece);
    }
    while (this.#pending) this.#answer();
    this.#engine.end();
    this.#events();
    while (this.#pending) this.#answer();
    expect(this.#closed || this.#handshaking).toBe(true);
  }

  #draw(what: keyof Choices): number {
    const all = this.#choices[what];
    return all[this.#turn++ % all.length] ?? 0;
  }

  #push(piece: Buffer): void {
    // As a connection does it: one piece at most is read while an answer is awaited, then none.
    while (this.#pending && (this.#pending.pieces === 0 || this.#engine.backlog > 0)) this.#answer();
    if (this.#pending) this.#pending.pieces--;
    if (this.#handshaking) {
      this.#engine.push(Buffer.from(piece));
      expect(this.#engine.next()).toBeUndefined();
      expect(this.#engine.takeOutput()).toBe('');
      expect(this.#engine.backlog).toBe(0);
      if (this.#draw('answers') % 2 === 0) this.#secure();
      return;
    }
    if (this.#closed) return;
    this.#engine.push(Buffer.from(piece));
    this.#taken += piece.toString('latin1');
    this.#events();
  }

  /** Whatever came in plaintext has left no trace: the session is as at its beginning. */
  #secure(): void {
    this.#engine.secured();
    this.#handshaking = false;
    this.#taken = '';
    expect(this.#engine.next()).toBeUndefined();
    expect(this.#engine.takeOutput()).toBe('');
    this.#engine.push(Buffer.from('MAIL FROM:<s@example.com>\r\n'));
    this.#taken += 'MAIL FROM:<s@example.com>\r\n';
    let event = this.#engine.next();
    if (event?.type === 'yield') event = this.#engine.next();
    const output = this.#engine.takeOutput();
    // Or it was the last error that was allowed.
    expect(output).toMatch(/^(?:503 5\.5\.1 [^\r]*\r\n(?:421 [^\r]*\r\n)?|421 [^\r]*\r\n)$/);
    if (event) this.#see(event);
  }

  #events(): void {
    for (let event = this.#engine.next(); event; event = this.#engine.next()) {
      this.#see(event);
      this.#checkOutput();
      if (this.#pending) return;
    }
    this.#checkOutput();
    if (!this.#pending) expect(this.#engine.backlog).toBeLessThan(OPTIONS.limits.maxCommandBytes + 20_000);
    expect(this.#engine.backlog).toBeLessThan(MAX_BACKLOG_BYTES);
  }

  #checkOutput(): void {
    const output = this.#engine.takeOutput();
    expect(output).toMatch(/^(?:\d{3}[ -][ -~]{0,506}\r\n)*$/);
  }

  #see(event: ProtocolEvent): void {
    expect(this.#closed).toBe(false);
    switch (event.type) {
      case 'rcpt':
      case 'data':
      case 'auth':
      case 'starttls':
        this.#pending = { event, pieces: this.#draw('delays') };
        break;
      case 'bytes':
        expect(this.#messageRefused).toBe(false);
        this.#message += event.bytes.toString('latin1');
        break;
      case 'data-refused':
        this.#messageRefused = true;
        break;
      case 'end-of-data':
        this.#checkMessage(event.refusal);
        this.#pending = { event, pieces: this.#draw('delays') };
        break;
      case 'close':
        this.#closed = true;
        break;
      default:
    }
  }

  /** DATA ended at the first CRLF.CRLF and nowhere else, with the message that the rules find there. */
  #checkMessage(refusal: Reply | null): void {
    const bytes = this.#taken.slice(this.#dataFrom);
    const read = bytes.length - this.#engine.backlog;
    const afterCrlf = this.#taken.slice(0, this.#dataFrom).endsWith('\r\n');
    expect(this.#messageRefused).toBe(refusal !== null);
    if (!`${afterCrlf ? '\r\n' : ''}${bytes.slice(0, read)}`.endsWith('\r\n.\r\n')) {
      // Given up: so much was thrown away that the connection is closed.
      expect(read).toBe(Math.max(SMALL_LIMITS.maxDrainedBytes, read));
      expect(refusal).not.toBeNull();
      return;
    }
    if (!afterCrlf) return;
    this.messages++;
    const verdict = judge(bytes, SMALL_MESSAGE_BYTES, this.#normalises);
    expect({ length: read, message: refusal ? String(refusal.code) : this.#message }).toEqual(verdict);
  }

  #answer(): void {
    const { event } = this.#pending ?? {};
    this.#pending = undefined;
    const engine = this.#engine;
    expect(engine.next()).toBeUndefined();
    const one = (replies: Reply[]) => engine.answer(replies[this.#draw('answers') % replies.length] ?? BYE);
    if (event?.type === 'rcpt') one(RCPT_ANSWERS);
    if (event?.type === 'auth') one(AUTH_ANSWERS);
    if (event?.type === 'end-of-data') {
      if (event.refusal) engine.answer(event.refusal);
      else one(END_ANSWERS);
    }
    if (event?.type === 'data') this.#answerData();
    if (event?.type === 'starttls') this.#answerStartTls();
    this.#events();
  }

  #answerData(): void {
    if (this.#draw('answers') % 4 === 0) {
      this.#engine.answer(FAULT);
      return;
    }
    this.#dataFrom = this.#taken.length - this.#engine.backlog;
    this.#message = '';
    this.#messageRefused = false;
    this.#engine.acceptData(SMALL_MESSAGE_BYTES);
  }

  #answerStartTls(): void {
    if (this.#draw('answers') % 3 === 0) {
      this.#engine.answer(REPLIES.noTlsNow);
      return;
    }
    this.#engine.acceptTls();
    expect(this.#engine.takeOutput()).toMatch(/^220 [^\r]*\r\n$/);
    expect(this.#engine.backlog).toBe(0);
    this.#handshaking = true;
  }
}

const stream = fc.oneof(
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

let messages = 0;
const attack = (text: string, drawn: Choices, normalises: boolean) => {
  const one = new Attack(drawn, normalises);
  one.run(Buffer.from(text, 'latin1'));
  messages += one.messages;
};

describe('any byte stream', () => {
  it.each(failures)('that failed once: $seed', ({ stream: text, choices: drawn, normalises }) => {
    attack(text, drawn, normalises);
  });

  it(
    'throws nothing, ends DATA by CRLF.CRLF only, and is not answered in plaintext after STARTTLS',
    () => {
      const details = fc.check(fc.property(stream, choices, fc.boolean(), attack), runs(2_000, 100_000));
      if (!details.failed) {
        // Otherwise the streams are not about what they should be about.
        expect(messages).toBeGreaterThan(500);
        return;
      }
      const [text = '', drawn, normalises] = details.counterexample ?? [];
      const failure = { seed: details.seed, stream: text, choices: drawn, normalises };
      writeFileSync(FAILURES, `${JSON.stringify([...failures, failure], null, 2)}\n`);
      throw new Error(fc.defaultReportMessage(details));
    },
    timeLimit(1_200_000),
  );
});
