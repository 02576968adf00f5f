import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Chance } from '../../support/chance.ts';
import type { Inbox } from '../../support/server-process.ts';
import { type SmtpClient, smtpClient } from '../../support/smtp-script.ts';

/** A mail whose bytes are derived from its id, so that any change is detected. */
export interface LoadMail {
  id: string;
  /** Addresses of recipients. */
  to: string[];
}

/** @returns a generator of mails; one in five is sent to all inboxes, the others to one */
export function mailsTo(inboxes: readonly Inbox[], random: Chance): () => LoadMail {
  const addresses = inboxes.map(({ address }) => address);
  let made = 0;
  return () => {
    const first = random.between(0, inboxes.length - 1);
    const to = random.between(1, 5) === 1 ? addresses : addresses.slice(first, first + 1);
    // Ids have the same length, so that none is a part of another one.
    return { id: `mail-${random.seed}-${++made + 100_000}`, to };
  };
}

/** Number of body lines: mostly small mails, some large ones. */
const BODY_LINES = [3, 12, 40, 7, 160, 25, 900];

/** @returns the bytes of a mail; each line contains its id, some begin with a dot */
export function bytesOf(id: string): Buffer {
  const hash = createHash('sha256').update(id).digest();
  const lines = BODY_LINES[(hash[0] ?? 0) % BODY_LINES.length] ?? 0;
  const body = Array.from({ length: lines }, (_, line) => {
    const noise = createHash('sha256').update(hash).update(String(line)).digest('base64').slice(0, 32);
    return `${line % 5 === 0 ? '.' : ''}${id} ${line} ${noise}`;
  });
  const header = ['From: sender@ledger.example', `Subject: ${id}`, `Message-ID: <${id}@ledger.example>`];
  return Buffer.from(`${[...header, '', ...body].join('\r\n')}\r\n`);
}

/** Delay between two attempts to send a mail, milliseconds. */
const RETRY_MS = 150;
/** Timeout of a reply, milliseconds; RFC 5321 section 4.5.3.2 requires minutes. */
const REPLY_TIMEOUT_MS = 30_000;

/** Shorter than the timeout of a test, so that a failure has a reason, milliseconds. */
const MAX_WAIT_MS = 100_000;

/** Key in `replies` for mails whose final dot got no reply. */
export const NO_REPLY = 'no reply';

/** The reply to a command or to the final dot; none if the connection ended after the dot. */
type Outcome = { reply: string; atDot: boolean } | typeof NO_REPLY;

/** Where mail is sent to, in turn. */
type Servers = { nodes: readonly { smtpPort: number }[] };

/**
 * Sends mail to the nodes of a site over several connections, as the queue of a mail server does: a mail that was
 * rejected with 4xx or got no reply is sent again, to the next node, until it is acknowledged.
 */
export class MailQueue {
  /** Acknowledged mails by id. `unknown` is the number of earlier attempts that may have stored the mail as well. */
  readonly acknowledged = new Map<string, { mail: LoadMail; unknown: number }>();
  /** Number of replies other than 250, by code. */
  readonly replies = new Map<string, number>();
  /** Replies with 5xx, which no test expects. */
  readonly permanent: string[] = [];
  /** Ids of the mails that were sent over each connection, in order, by its local port. */
  readonly connections = new Map<number, string[]>();
  readonly #site: Servers;
  readonly #next: () => LoadMail | undefined;
  readonly #running: Promise<void>[];
  #turn = 0;
  #isStopped = false;

  /** @param next returns the next new mail; undefined when there is none */
  constructor(site: Servers, next: () => LoadMail | undefined, connections: number) {
    this.#site = site;
    this.#next = next;
    this.#running = Array.from({ length: connections }, () => this.#work());
  }

  /** Stops taking new mails; resolves when all others are acknowledged. */
  async drained(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  /** Resolves when `count` mails are acknowledged; rejects with the replies when this takes too long. */
  async untilAcknowledged(count: number): Promise<void> {
    const end = performance.now() + MAX_WAIT_MS;
    while (this.acknowledged.size < count) {
      await pause(10);
      const replies = () => JSON.stringify([...this.replies]);
      if (performance.now() > end) throw new Error(`${this.acknowledged.size} of ${count}: ${replies()}`);
    }
  }

  /** Resolves when `count` more mails are acknowledged. */
  readonly untilMore = (count: number) => this.untilAcknowledged(this.acknowledged.size + count);

  async #work(): Promise<void> {
    let client: SmtpClient | undefined;
    for (let mail = this.#next(); mail && !this.#isStopped; mail = this.#next()) {
      let unknown = 0;
      for (;;) {
        client = client && !client.isClosed ? client : await this.#open();
        const outcome = client && (await attempt(client, mail));
        const port = client?.socket.localPort ?? 0;
        this.connections.set(port, [...(this.connections.get(port) ?? []), mail.id]);
        if (outcome === undefined) this.#count('no connection');
        else if (outcome === NO_REPLY) {
          unknown += 1;
          this.#count(NO_REPLY);
        } else if (outcome.atDot && outcome.reply.startsWith('250')) break;
        else {
          if (outcome.atDot) unknown += 1;
          if (outcome.reply.startsWith('5')) this.permanent.push(outcome.reply);
          this.#count(outcome.reply.slice(0, 3) || 'closed');
        }
        client?.close();
        client = undefined;
        await pause(RETRY_MS);
      }
      this.acknowledged.set(mail.id, { mail, unknown });
    }
    client?.close();
  }

  readonly #count = (code: string) => this.replies.set(code, (this.replies.get(code) ?? 0) + 1);

  /** @returns a connection to the next node */
  #open(): Promise<SmtpClient | undefined> {
    const { nodes } = this.#site;
    return open(nodes[this.#turn++ % nodes.length]?.smtpPort ?? 0);
  }
}

/** @returns a connection after EHLO; undefined if the server does not accept it */
async function open(port: number): Promise<SmtpClient | undefined> {
  const client = await smtpClient(port).catch(() => undefined);
  client?.socket.setTimeout(REPLY_TIMEOUT_MS, () => client.close());
  if (!(await client?.reply())?.startsWith('220')) return undefined;
  return (await client?.say('EHLO queue.example'))?.startsWith('250') ? client : undefined;
}

async function attempt(client: SmtpClient, { id, to }: LoadMail): Promise<Outcome> {
  const recipients = to.map((address) => `RCPT TO:<${address}>`);
  for (const command of ['MAIL FROM:<sender@ledger.example>', ...recipients, 'DATA']) {
    const reply = await client.say(command);
    if (!/^[23]/.test(reply)) return { reply, atDot: false };
  }
  // Dot stuffing (RFC 5321 section 4.5.2).
  const data = bytesOf(id).toString('latin1').replaceAll(/^\./gm, '..');
  await client.send(Buffer.from(`${data}.\r\n`, 'latin1'));
  const reply = await client.reply();
  return reply === '' ? NO_REPLY : { reply, atDot: true };
}

/** Sends a mail once. @returns the reply */
export async function sendOnce(port: number, mail: LoadMail): Promise<string> {
  const client = await open(port);
  const outcome = client && (await attempt(client, mail));
  client?.close();
  return typeof outcome === 'object' ? outcome.reply : NO_REPLY;
}
