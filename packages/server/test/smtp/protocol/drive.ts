import { type EngineOptions, SmtpEngine } from '../../../src/smtp/engine.ts';
import type { ProtocolEvent } from '../../../src/smtp/events.ts';
import { DEFAULT_SMTP_LIMITS } from '../../../src/smtp/limits.ts';
import { REPLIES } from '../../../src/smtp/replies.ts';

export const OPTIONS: EngineOptions = {
  name: 'mx.mayfly.test',
  peer: '192.0.2.1',
  maxMessageBytes: 1_000_000,
  bareLineEndings: 'refuse',
  limits: DEFAULT_SMTP_LIMITS,
  tls: false,
  startTls: true,
  auth: 'always',
};

export interface Transcript {
  /** Everything that was written to the client. */
  output: string;
  /** All events but `bytes`, `yield` and `data-refused`, as JSON. */
  events: string[];
  /** The messages that were accepted, as latin1. */
  mails: string[];
  closed: boolean;
}

/**
 * An engine with an application that answers at once: recipients whose address begins with `no` are rejected,
 * the password `right` is accepted, every message may have `maxBytes` and is accepted, the handshake after STARTTLS
 * never comes to its end.
 */
export class Driver {
  readonly engine: SmtpEngine;
  readonly transcript: Transcript = { output: '', events: [], mails: [], closed: false };
  #pieces: Buffer[] = [];
  readonly #maxBytes: number;

  constructor(options: Partial<EngineOptions> = {}, maxBytes = OPTIONS.maxMessageBytes) {
    this.engine = new SmtpEngine({ ...OPTIONS, ...options });
    this.#maxBytes = maxBytes;
    this.engine.greet();
  }

  /** Pushes a copy and handles all that comes of it. */
  push(bytes: Uint8Array): void {
    this.engine.push(Buffer.from(bytes));
    this.run();
  }

  /** Handles all events. */
  run(): void {
    for (let event = this.engine.next(); event; event = this.engine.next()) {
      this.handle(event);
      this.transcript.output += this.engine.takeOutput();
    }
    this.transcript.output += this.engine.takeOutput();
  }

  handle(event: ProtocolEvent): void {
    const { engine, transcript } = this;
    if (!['bytes', 'yield', 'data-refused'].includes(event.type))
      transcript.events.push(JSON.stringify(event));
    switch (event.type) {
      case 'rcpt':
        engine.answer(event.rcptTo.startsWith('no') ? REPLIES.noSuchInbox : REPLIES.recipientOk);
        break;
      case 'data':
        this.#pieces = [];
        engine.acceptData(this.#maxBytes);
        break;
      case 'bytes':
        this.#pieces.push(event.bytes);
        break;
      case 'end-of-data':
        if (!event.refusal) transcript.mails.push(Buffer.concat(this.#pieces).toString('latin1'));
        engine.answer(event.refusal ?? REPLIES.stored);
        break;
      case 'auth':
        engine.answer(
          event.credentials.password === 'right' ? REPLIES.authenticated : REPLIES.badCredentials,
        );
        break;
      case 'starttls':
        engine.acceptTls();
        break;
      case 'close':
        transcript.closed = true;
        break;
      default:
    }
  }
}

/** What becomes of a dialogue that comes in the given pieces, and ends with the client closing its side. */
export function play(
  pieces: readonly Uint8Array[],
  options: Partial<EngineOptions> = {},
  maxBytes?: number,
): Transcript {
  const driver = new Driver(options, maxBytes);
  driver.run();
  for (const piece of pieces) driver.push(piece);
  driver.engine.end();
  driver.run();
  return driver.transcript;
}

/** The whole dialogue, latin1, in one piece. */
export const say = (text: string, options: Partial<EngineOptions> = {}, maxBytes?: number): Transcript =>
  play([Buffer.from(text, 'latin1')], options, maxBytes);

/** Cuts bytes at the given offsets, in any order and beyond the end. */
export function cut(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const ends = [...new Set(offsets.map((offset) => offset % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end));
}
