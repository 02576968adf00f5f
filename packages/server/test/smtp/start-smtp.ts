import { pino } from 'pino';
import { beforeEach, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../src/clock.ts';
import { type Config, parseConfig } from '../../src/config/config.ts';
import { AppError } from '../../src/errors.ts';
import type { MetFault } from '../../src/faults/sql.ts';
import { ByteBudget, IN_FLIGHT_BYTES, TRACE_HEADROOM_BYTES } from '../../src/inbound/incoming-mail.ts';
import type { ReceivedMail, Recipient, SmtpReceiver } from '../../src/inbound/receiver.ts';
import type { CaptureTarget, FindCaptureTarget } from '../../src/inbound/smtp-credentials.ts';
import type { MailEnvelope } from '../../src/mail/mail.ts';
import type { SmtpMetrics } from '../../src/operations/metrics.ts';
import { type FaultPoint, NO_RECIPIENT, type Refusal } from '../../src/refusals/sql.ts';
import type { SmtpLimits } from '../../src/smtp/limits.ts';
import { createSmtpServer } from '../../src/smtp/server.ts';
import type { Certificate, KeyPair } from '../../src/smtp/tls.ts';
import { type SmtpClient, smtpClient } from '../support/smtp-script.ts';
import { ofTest, startedOnce } from '../support/started.ts';

export interface TakenMail {
  envelope: MailEnvelope;
  recipients: Recipient[];
  bytes: Buffer;
  session: string;
  authenticated: boolean;
}

/** The inbox of the credentials that are right. */
export const CAPTURING = { id: 'inb_capturing', accountId: 'acc_1', address: 'capturing@mayfly.test' };

/**
 * A receiver that keeps mail in memory: `a@mayfly.test`, `b@…` and every `inbox…@…` live, `full@…`
 * is full, `small@…` takes 1000 bytes, `down@…` meets a storage that is down, `broken@…` a defect.
 */
export class MemoryReceiver implements SmtpReceiver {
  readonly mails: TakenMail[] = [];
  readonly refusals: Refusal[] = [];
  /** Awaited before a mail is kept; throw in it for a storage that fails. */
  beforeTake: () => Promise<void> = async () => undefined;

  /** Makes storing wait. @returns `begun` resolves when a mail waits; `goOn` lets it be kept */
  holdStoring(): { begun: Promise<void>; goOn: () => void } {
    const begun = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    this.beforeTake = () => {
      begun.resolve();
      return held.promise;
    };
    return { begun: begun.promise, goOn: held.resolve };
  }

  /** The user `inbox` with the password `secret` captures; the password `down` meets a storage that is down. */
  readonly findCaptureTarget: FindCaptureTarget = async ({ authorizeAs, username, password }) => {
    if (password === 'down') throw new AppError('unavailable', 'secret words about the storage');
    if (password === 'broken') throw new Error('secret words about a defect');
    const isRight = ['', username].includes(authorizeAs) && username === 'inbox' && password === 'secret';
    return isRight ? CAPTURING : undefined;
  };

  async accept(address: string, declaredBytes: number, target?: CaptureTarget | null): Promise<Recipient> {
    if (target)
      return { ...target, inboxId: target.id, rcptTo: address, maxMessages: 1000, maxMessageBytes: 1000 };
    const [local = '', domain] = address.toLowerCase().split('@');
    if (local === 'down') throw new AppError('unavailable', 'secret words about the storage');
    if (local === 'broken') throw new Error('secret words about a defect');
    if (local === 'full') throw new AppError('inbox_full', 'The inbox is full');
    const name = local.split('+')[0] ?? '';
    if (domain !== 'mayfly.test' || !/^(?:a|b|small|inbox.*|ü.*)$/.test(name)) {
      throw new AppError('unknown_recipient', 'No such inbox');
    }
    const maxMessageBytes = name === 'small' ? 1000 : 50 * 1024 * 1024;
    if (declaredBytes > maxMessageBytes) throw new AppError('message_too_large', 'Too large');
    const inbox = { inboxId: `inb_${name}`, accountId: 'acc_1', address: `${name}@mayfly.test` };
    const faulty = name.startsWith('inbox-faulty') && { faultsOf: inbox.address };
    return { ...inbox, rcptTo: address, maxMessages: 1000, maxMessageBytes, ...faulty };
  }

  /** Rules of all inboxes whose name begins with `inbox-faulty`, in their order. */
  readonly faults: Omit<MetFault, 'rule'>[] = [];
  async meetFault(
    { address }: Recipient,
    at: FaultPoint,
    { tls: _, ...sender }: MailEnvelope,
  ): Promise<MetFault | undefined> {
    const [next] = this.faults;
    if (next?.at !== at) return undefined;
    this.faults.shift();
    const { reply, ...rest } = next;
    const fault = { rule: 1, ...rest };
    const line = reply ? `${reply.code} ${reply.text}` : '';
    this.refusals.push({ at: 0, address, reply: line, ...sender, fault });
    return { ...fault, reply };
  }

  async deliver({ envelope, recipients, received, trace }: ReceivedMail): Promise<string[]> {
    if (received.byteOffset !== TRACE_HEADROOM_BYTES) throw new Error('no room for the Received line');
    await this.beforeTake();
    const { id: session = '', authenticated = false } = trace ?? {};
    this.mails.push({ envelope, recipients, bytes: Buffer.from(received), session, authenticated });
    return [];
  }

  replied(): void {}

  /** Without a recipient: failed handshakes, and messages that MAIL declares too large. */
  readonly unaddressed: Refusal[] = [];
  refused(refusal: Refusal): void {
    if (refusal.address === NO_RECIPIENT) this.unaddressed.push(refusal);
    else if (!refusal.capturedBy) this.refusals.push(refusal);
  }
}

export class CountingMetrics implements SmtpMetrics {
  open = 0;
  readonly mails: { result: string; bytes: number }[] = [];
  readonly codes: number[] = [];
  connection(): void {
    this.open++;
  }
  disconnection(): void {
    this.open--;
  }
  mail(result: string, bytes: number): void {
    this.mails.push({ result, bytes });
  }
  refusal(code: number): void {
    this.codes.push(code);
  }
  handshakeFailures = 0;
  tlsHandshakeFailure(): void {
    this.handshakeFailures++;
  }
  readonly authentications: string[] = [];
  readonly authentication = (result: string): void => {
    this.authentications.push(result);
  };
}

export interface StartedSmtp {
  port: number;
  tlsPort: number | null;
  receiver: MemoryReceiver;
  metrics: CountingMetrics;
  /** Every error in the log. */
  logged: string[];
  certificate: Certificate;
  stop(graceMs?: number): Promise<void>;
}

export interface SmtpTestOptions extends Partial<Config> {
  limits?: Partial<SmtpLimits>;
  maxMessageBytes?: number;
  tls?: KeyPair | null;
  /** Of all messages in flight. */
  inFlightBytes?: number;
}

/** The real SMTP server on a free port of the loopback, before a receiver in memory. */
export async function startSmtp(
  options: SmtpTestOptions = {},
  clock: Clock = systemClock,
): Promise<StartedSmtp> {
  const { maxMessageBytes = 50 * 1024 * 1024, limits = {}, tls = null } = options;
  const receiver = new MemoryReceiver();
  const metrics = new CountingMetrics();
  const { findCaptureTarget } = receiver;
  const capacity = options.inFlightBytes ?? IN_FLIGHT_BYTES;
  const budget = new ByteBudget({ capacity, largest: maxMessageBytes, clock });
  const logged: string[] = [];
  const log = pino({ level: 'error' }, { write: (line: string) => logged.push(line) });
  const server = createSmtpServer(
    {
      ...parseConfig({ MAYFLY_SMTP_PORT: '0', MAYFLY_SMTP_AUTH: 'off' }),
      ...{ smtpTlsCert: tls?.cert ?? null, smtpTlsKey: tls?.key ?? null, ...options },
    },
    {
      ...{ hostname: 'mx.mayfly.test', maxMessageBytes, limits },
      ...{ receiver, budget, findCaptureTarget, clock, log, metrics },
    },
  );
  const ports = await server.start().catch(async (error) => {
    await server.stop(0);
    throw error;
  });
  return {
    ...ports,
    receiver,
    metrics,
    logged,
    certificate: server.certificate,
    stop: (graceMs = 1000) => server.stop(graceMs),
  };
}

/** A server for the tests of a file or a `describe`, whose receiver is empty before each. */
export function useSmtp(...args: Parameters<typeof startSmtp>): StartedSmtp {
  const smtp = startedOnce(() => startSmtp(...args));
  beforeEach(() => {
    const { receiver, metrics } = smtp;
    for (const kept of [receiver.mails, receiver.refusals, metrics.mails]) kept.length = 0;
    receiver.beforeTake = async () => undefined;
  });
  return smtp;
}

/** A server that ends with the test. */
export const smtpOfTest = (...args: Parameters<typeof startSmtp>): Promise<StartedSmtp> =>
  ofTest(startSmtp(...args));

/** A server and a connection to it, which end with the test. */
export async function connectedOfTest(...args: Parameters<typeof startSmtp>) {
  const smtp = await smtpOfTest(...args);
  return { smtp, client: await clientOfTest(smtp.port) };
}

/** A client whose connection ends with the test. */
export async function clientOfTest(...args: Parameters<typeof smtpClient>): Promise<SmtpClient> {
  const client = await smtpClient(...args);
  client.socket.on('error', () => undefined);
  onTestFinished(() => client.close());
  return client;
}

/** Resolves after so many turns of the event loop. */
export async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** Greeting and EHLO, then MAIL, then RCPT, and then ready for the message. */
export const hello = ['→ 220', 'EHLO client.test → 250'];
export const withSender = [...hello, 'MAIL FROM:<sender@example.com> → 250 2.1.0'];
export const upToData = [...withSender, 'RCPT TO:<a@mayfly.test> → 250 2.1.5'];
export const inData = [...upToData, 'DATA → 354'];

/** A whole mail after EHLO. */
export const mailTo = (...recipients: string[]): string[] => [
  'MAIL FROM:<sender@example.com> → 250 2.1.0',
  ...recipients.map((to) => `RCPT TO:<${to}> → 250 2.1.5`),
  'DATA → 354',
  'x\r\n. → 250 2.0.0',
];
