import { setTimeout as pause } from 'node:timers/promises';
import { type SmtpClient, smtpClient } from '../../support/smtp-script.ts';
import { bytesOf, type LedgerMail, onTheWire } from '../durability/ledger.ts';

/** Between two attempts of a mail that was refused or not answered, milliseconds. */
const RETRY_MS = 150;
/** A sender gives up an answer after this, milliseconds. RFC 5321 section 4.5.3.2 demands minutes. */
const PATIENCE_MS = 30_000;

/** Key of the count of final dots without an answer. */
export const NO_ANSWER = 'no answer';

/** What became of an attempt: a reply, or none because the connection ended. */
type Outcome = { reply: string; atDot: boolean } | 'unanswered';

export interface Attempts {
  /** Attempts that ended without an answer to the final dot, or with 4xx to it: the mail may be stored. */
  unknown: number;
  /** Attempts that were refused before the final dot. */
  refused: number;
}

/**
 * A mail program with a queue: several connections to any of the servers; a mail that is refused for now or not
 * answered is tried again, on another server, until one acknowledges it.
 */
export class MailQueue {
  /** Acknowledged mails by id, with what the attempts before were. */
  readonly acknowledged = new Map<string, { mail: LedgerMail; before: Attempts }>();
  /** Replies other than 250, counted by their code. */
  readonly replies = new Map<string, number>();
  /** Permanent refusals: none is expected. */
  readonly permanent: string[] = [];
  readonly #ports: () => number[];
  readonly #next: () => LedgerMail | undefined;
  readonly #running: Promise<void>[];
  #turn = 0;
  #isStopped = false;

  /**
   * @param ports of the servers that a sender may try now
   * @param next the next new mail; undefined when there is none
   */
  constructor(ports: () => number[], next: () => LedgerMail | undefined, connections: number) {
    this.#ports = ports;
    this.#next = next;
    this.#running = Array.from({ length: connections }, () => this.#work());
  }

  /** Takes no new mail; resolves when every mail that was begun is acknowledged. */
  async drained(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  /** Resolves when so many are acknowledged. */
  async untilAcknowledged(count: number): Promise<void> {
    while (this.acknowledged.size < count) await pause(10);
  }

  async #work(): Promise<void> {
    let dialogue: SmtpClient | undefined;
    for (let mail = this.#next(); mail && !this.#isStopped; mail = this.#next()) {
      const before: Attempts = { unknown: 0, refused: 0 };
      for (;;) {
        dialogue = dialogue && !dialogue.isClosed ? dialogue : await this.#open();
        const outcome = dialogue ? await attempt(dialogue, mail) : 'unanswered';
        if (outcome !== 'unanswered' && outcome.atDot && outcome.reply.startsWith('250')) break;
        if (outcome === 'unanswered') {
          if (dialogue) before.unknown += 1;
          this.#count(dialogue ? NO_ANSWER : 'no connection');
        } else {
          const code = outcome.reply.slice(0, 3) || 'closed';
          this.#count(code);
          if (code.startsWith('5')) this.permanent.push(outcome.reply);
          if (outcome.atDot) before.unknown += 1;
          else before.refused += 1;
        }
        dialogue?.close();
        dialogue = undefined;
        await pause(RETRY_MS);
      }
      this.acknowledged.set(mail.id, { mail, before });
    }
    dialogue?.close();
  }

  #count(code: string): void {
    this.replies.set(code, (this.replies.get(code) ?? 0) + 1);
  }

  /** A connection to the next server; undefined when it does not greet. */
  async #open(): Promise<SmtpClient | undefined> {
    const ports = this.#ports();
    const port = ports[this.#turn++ % ports.length];
    if (port === undefined) return undefined;
    const dialogue = await smtpClient(port).catch(() => undefined);
    dialogue?.socket.setTimeout(PATIENCE_MS, () => dialogue.close());
    if (!(await dialogue?.reply())?.startsWith('220')) return undefined;
    return (await dialogue?.say('EHLO queue.example'))?.startsWith('250') ? dialogue : undefined;
  }
}

async function attempt(dialogue: SmtpClient, mail: LedgerMail): Promise<Outcome> {
  const commands = [
    'MAIL FROM:<sender@ledger.example>',
    ...mail.to.map((address) => `RCPT TO:<${address}>`),
    'DATA',
  ];
  for (const command of commands) {
    const reply = await dialogue.say(command);
    if (reply === '') return { reply: '', atDot: false };
    if (!/^[23]/.test(reply)) return { reply, atDot: false };
  }
  await dialogue.send(onTheWire(bytesOf(mail)));
  const reply = await dialogue.reply();
  return reply === '' ? 'unanswered' : { reply, atDot: true };
}
