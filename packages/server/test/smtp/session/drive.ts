import { parseConfig } from '../../../src/config/config.ts';
import { AppError } from '../../../src/errors.ts';
import { ByteBudget, IN_FLIGHT_BYTES } from '../../../src/inbound/incoming-mail.ts';
import type { SmtpReceiver } from '../../../src/inbound/receiver.ts';
import { createLog } from '../../../src/log.ts';
import { SMTP_LIMITS, type SmtpLimits } from '../../../src/smtp/limits.ts';
import { SmtpVisits } from '../../../src/smtp/reports.ts';
import { Session, type SessionContext, type Transport } from '../../../src/smtp/session.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { CAPTURING, CountingMetrics } from '../start-smtp.ts';

export interface DriveOptions extends Partial<Omit<SessionContext, 'limits' | 'receiver'>> {
  limits?: Partial<SmtpLimits>;
  bareLineEndings?: 'refuse' | 'normalise';
  /** What the application does in another way than by default. */
  receiver?: Partial<SmtpReceiver>;
}

/**
 * A session with a client in memory, and an application that takes every mail: recipients whose address begins with
 * `no` are rejected, and the password `right` is accepted.
 */
export class Driver implements Transport {
  readonly id = 'session';
  readonly remoteAddress = '192.0.2.1';
  readonly source = '192.0.2.1';
  readonly connectedAt = 0;
  /** Everything that was written to the client. */
  output = '';
  /** What the application was asked and told, as JSON. */
  readonly calls: string[] = [];
  /** The messages that were delivered, as latin1. */
  readonly mails: string[] = [];
  closed = false;
  isHandshaking = false;
  /** Unexpected failures that were logged. */
  readonly defects: unknown[] = [];
  readonly budget: ByteBudget;
  readonly session: Session;
  readonly #running: Promise<void>;
  #reader: ((bytes: Buffer | undefined) => void) | undefined;
  #secured: ((cipher: string) => void) | undefined;
  #whenIdle: (() => void) | undefined;

  constructor(options: DriveOptions = {}) {
    const { limits, receiver, bareLineEndings } = options;
    const clock = new FakeClock();
    const log = createLog('silent');
    log.error = ({ err }: { err?: unknown }) => void this.defects.push(err);
    this.budget = options.budget ?? new ByteBudget({ capacity: IN_FLIGHT_BYTES, largest: 1_000_000, clock });
    const context: SessionContext = {
      ...{ hostname: 'mx.mayfly.test', maxMessageBytes: 1_000_000 },
      config: parseConfig({
        ...{ MAYFLY_SMTP_AUTH_PLAINTEXT: 'on', MAYFLY_SMTP_BARE_LINE_ENDINGS: bareLineEndings },
      }),
      ...{ clock, log, metrics: new CountingMetrics(), budget: this.budget },
      visits: new SmtpVisits(),
      findCaptureTarget: async ({ password }) => (password === 'right' ? CAPTURING : undefined),
      ...options,
      receiver: { ...this.#application(), ...receiver },
      limits: { ...SMTP_LIMITS, ...limits },
    };
    this.session = new Session(context, this, true);
    this.#running = this.session.run(null);
  }

  /** Sends a copy, and waits until the session wants more or is over. */
  async push(bytes: Uint8Array | string): Promise<void> {
    await this.idle();
    this.#give(Buffer.from(bytes as Uint8Array));
    await this.idle();
  }

  /** The client closes its side. */
  async finish(): Promise<void> {
    await this.idle();
    this.#give(undefined);
    if (!this.isHandshaking) await this.#running;
  }

  /** Resolves when the session wants bytes, is in a handshake, or is over. */
  async idle(): Promise<void> {
    if (this.#reader || this.isHandshaking) return;
    const idle = new Promise<void>((resolve) => {
      this.#whenIdle = resolve;
    });
    await Promise.race([idle, this.#running]);
  }

  /** The TLS handshake is complete. */
  async secured(): Promise<void> {
    this.isHandshaking = false;
    this.#secured?.('TLS');
    await this.idle();
  }

  #give(bytes: Buffer | undefined): void {
    const reader = this.#reader;
    this.#reader = undefined;
    reader?.(bytes);
  }

  #nowIdle(): void {
    this.#whenIdle?.();
    this.#whenIdle = undefined;
  }

  read(): Promise<Buffer | undefined> {
    if (this.closed) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      this.#reader = resolve;
      this.#nowIdle();
    });
  }

  write(text: string): undefined {
    this.output += text;
  }

  end(text: string): void {
    this.output += text;
    this.closed = true;
    this.#give(undefined);
  }

  encrypt(): Promise<string> {
    this.isHandshaking = true;
    this.#nowIdle();
    return new Promise((resolve) => {
      this.#secured = resolve;
    });
  }

  setDelayed(): void {}

  #application(): SmtpReceiver {
    const note = (call: object) => void this.calls.push(JSON.stringify(call));
    return {
      accept: async (rcptTo, declaredBytes, target) => {
        note({ rcptTo, declaredBytes, target });
        if (rcptTo.startsWith('no')) throw new AppError('unknown_recipient', 'No such inbox');
        const inbox = { inboxId: `inb_${rcptTo}`, accountId: 'acc_1', address: rcptTo };
        return { ...inbox, rcptTo, maxMessages: 1000, maxMessageBytes: 1_000_000 };
      },
      deliver: async ({ received, ...mail }) => {
        note(mail);
        this.mails.push(Buffer.from(received).toString('latin1'));
        return [];
      },
      meetFault: async () => undefined,
      replied: () => undefined,
      refused: (refused) => note({ refused }),
    };
  }
}

/** A whole dialogue, latin1, in one piece; then the client closes its side. */
export async function say(text: string, options: DriveOptions = {}): Promise<Driver> {
  const driver = new Driver(options);
  await driver.push(Buffer.from(text, 'latin1'));
  await driver.finish();
  return driver;
}

/** What the world has seen of a session. */
export const traces = ({ output, calls, mails, closed, defects }: Driver) => ({
  ...{ output, calls, mails, closed, defects },
});

/** Cuts bytes at the given offsets, in any order and beyond the end. */
export function cut(bytes: Buffer, offsets: readonly number[]): Buffer[] {
  const ends = [...new Set(offsets.map((offset) => offset % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...ends, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1], end));
}
