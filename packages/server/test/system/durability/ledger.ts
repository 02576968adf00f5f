import { createHash } from 'node:crypto';
import { connect, type Socket } from 'node:net';

/** A mail of the ledger: its bytes follow from its id, so that any change of them shows. */
export interface LedgerMail {
  id: string;
  /** Addresses. */
  to: string[];
}

/** What the senders know: which mails were answered, and how. */
export class Ledger {
  /** Those whose final dot was answered with 250. */
  readonly acknowledged = new Map<string, LedgerMail>();
  /** Those whose final dot was answered otherwise, with the reply. */
  readonly refused = new Map<string, string>();
  /** Mails whose final dot got no reply: they may be stored or not. */
  readonly unanswered = new Map<string, LedgerMail>();
  readonly #watchers = new Set<() => void>();

  acknowledge(mail: LedgerMail): void {
    this.acknowledged.set(mail.id, mail);
    for (const look of [...this.#watchers]) look();
  }

  /** Resolves when so many are acknowledged. */
  untilAcknowledged(count: number): Promise<void> {
    return new Promise((resolve) => {
      const look = () => {
        if (this.acknowledged.size < count) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
  }
}

/** Sizes as they come in: codes and newsletters mostly, now and then something with pictures. */
const BODY_LINES = [3, 12, 40, 7, 160, 25, 900];
const HASH_BYTES = 32;

/** The bytes of a mail; each line names it, some begin with a dot. CRLF line ends, the last one too. */
export function bytesOf({ id }: Pick<LedgerMail, 'id'>): Buffer {
  const stream = createHash('sha256').update(id).digest();
  const lines = BODY_LINES[(stream[0] ?? 0) % BODY_LINES.length] ?? 0;
  const body = Array.from({ length: lines }, (_, line) => {
    const noise = createHash('sha256')
      .update(stream)
      .update(String(line))
      .digest('base64')
      .slice(0, HASH_BYTES);
    return `${line % 5 === 0 ? '.' : ''}${id} ${line} ${noise}`;
  });
  return Buffer.from(
    `${[`From: sender@ledger.example`, `Subject: ${id}`, `Message-ID: <${id}@ledger.example>`, '', ...body].join('\r\n')}\r\n`,
  );
}

/** The bytes as they go after DATA (RFC 5321 section 4.5.2), with the end of the data. */
export function onTheWire(bytes: Buffer): Buffer {
  const stuffed = bytes.toString('latin1').replace(/(^|\r\n)\./g, '$1..');
  return Buffer.from(`${stuffed}${stuffed.endsWith('\r\n') || stuffed === '' ? '' : '\r\n'}.\r\n`, 'latin1');
}

/**
 * One SMTP connection that sends mail after mail, pipelined (RFC 2920): the end of one mail and the
 * envelope of the next go in one write, so one mail at most awaits its answer.
 */
export class Sender {
  /** Resolves when the connection is over, with the last reply that came. */
  readonly ended: Promise<string>;
  /** Our port, by which a trace of the server's calls names the connection. */
  localPort = 0;
  /** The mails in the order of their dots. */
  readonly sent: string[] = [];
  readonly #socket: Socket;
  readonly #ledger: Ledger;
  readonly #next: () => LedgerMail | undefined;
  /** What the coming replies are for, in order. */
  readonly #expected: ((reply: string) => void)[] = [];
  #inFlight: LedgerMail | undefined;
  #text = '';
  #last = '';

  /** @param next gives the next mail; undefined ends the dialogue by QUIT */
  constructor(port: number, ledger: Ledger, next: () => LedgerMail | undefined) {
    this.#ledger = ledger;
    this.#next = next;
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.once('connect', () => {
      this.localPort = this.#socket.localPort ?? 0;
    });
    this.#socket.on('data', (piece) => this.#receive(piece.toString('latin1')));
    this.ended = new Promise((resolve) => {
      // A reset is what a killed server leaves; what it means is decided at 'close'.
      this.#socket.on('error', () => undefined);
      this.#socket.once('close', () => {
        if (this.#inFlight) ledger.unanswered.set(this.#inFlight.id, this.#inFlight);
        resolve(this.#last);
      });
    });
    this.#expect('220', () => {
      this.#expect('250', () => this.#socket.write(this.#envelope(this.#next())));
      this.#socket.write('EHLO ledger.example\r\n');
    });
  }

  #expect(code: string, then: () => void): void {
    this.#expected.push((reply) => {
      if (reply.startsWith(code)) then();
    });
  }

  /** The commands before the mail's bytes; their replies are awaited. */
  #envelope(mail: LedgerMail | undefined): string {
    if (!mail) {
      this.#expect('221', () => undefined);
      return 'QUIT\r\n';
    }
    this.#expect('250', () => undefined);
    for (const _ of mail.to) this.#expect('250', () => undefined);
    this.#expect('354', () => this.#data(mail));
    const recipients = mail.to.map((address) => `RCPT TO:<${address}>\r\n`).join('');
    return `MAIL FROM:<sender@ledger.example>\r\n${recipients}DATA\r\n`;
  }

  #data(mail: LedgerMail): void {
    this.#inFlight = mail;
    this.sent.push(mail.id);
    this.#expected.push((reply) => {
      this.#inFlight = undefined;
      if (reply.startsWith('250')) this.#ledger.acknowledge(mail);
      else this.#ledger.refused.set(mail.id, reply);
    });
    const following = this.#envelope(this.#next());
    this.#socket.write(Buffer.concat([onTheWire(bytesOf(mail)), Buffer.from(following)]));
  }

  #receive(text: string): void {
    this.#text += text;
    for (;;) {
      const reply = /^(?:\d{3}-[^\r\n]*\r\n)*\d{3}(?: [^\r\n]*)?\r\n/.exec(this.#text)?.[0];
      if (reply === undefined) return;
      this.#text = this.#text.slice(reply.length);
      this.#last = reply.trimEnd();
      // The server's last word, which answers no command of ours (RFC 5321 section 3.8).
      if (reply.startsWith('421')) return;
      this.#expected.shift()?.(reply);
    }
  }
}
