import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const END_OF_DATA = Buffer.from('.\r\n');

/**
 * A mail as it travels after DATA, made once for many sends. One write holds it all, so that no timer
 * of TCP lies between the mail and its dot.
 * @param mail CRLF line endings, ends with one, no line begins with a dot
 */
export const onTheWire = (mail: Buffer): Buffer => Buffer.concat([mail, END_OF_DATA]);

/** One SMTP connection that sends mail after mail and measures the reply to the final dot. */
export class SmtpClient {
  readonly #socket: Socket;
  #text = '';
  #waiting: { resolve(reply: string): void; reject(error: Error): void } | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (piece) => {
      this.#text += piece.toString('latin1');
      this.#deliver();
    });
    socket.on('error', (error) => this.#waiting?.reject(error));
    socket.on('close', () => this.#waiting?.reject(new Error('the server closed the connection')));
  }

  /** Connects and says EHLO. */
  static async open(port: number): Promise<SmtpClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    const client = new SmtpClient(socket);
    await client.#expect('220');
    await client.#say('EHLO bench.example.com', '250');
    return client;
  }

  /**
   * Sends a mail.
   * @param data made by {@link onTheWire}
   * @returns milliseconds from the write that holds the final dot to the 250, and when that came
   */
  async send(to: string, data: Buffer): Promise<{ ms: number; at: number }> {
    await this.#say('MAIL FROM:<sender@example.com>', '250');
    await this.#say(`RCPT TO:<${to}>`, '250');
    await this.#say('DATA', '354');
    const begun = performance.now();
    this.#socket.write(data);
    await this.#expect('250');
    const at = performance.now();
    return { ms: at - begun, at };
  }

  /** @returns milliseconds to the reply */
  async noop(): Promise<number> {
    const begun = performance.now();
    await this.#say('NOOP', '250');
    return performance.now() - begun;
  }

  close(): void {
    this.#socket.destroy();
  }

  async #say(line: string, code: string): Promise<void> {
    this.#socket.write(`${line}\r\n`);
    await this.#expect(code);
  }

  async #expect(code: string): Promise<void> {
    const reply = await new Promise<string>((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#deliver();
    });
    if (!reply.startsWith(code)) throw new Error(`expected ${code}, got ${reply}`);
  }

  #deliver(): void {
    const reply = /^(?:\d{3}-[^\n]*\n)*\d{3} [^\n]*\n/.exec(this.#text)?.[0];
    if (reply === undefined || !this.#waiting) return;
    this.#text = this.#text.slice(reply.length);
    this.#waiting.resolve(reply);
    this.#waiting = undefined;
  }
}

/** The same for a mail with any bytes: with CRLF as the only line end, and dots doubled (RFC 5321 section 4.5.2). */
export function anyOnTheWire(mail: Buffer): Buffer {
  const lines = mail.toString('latin1').split(/\r\n|\r|\n/);
  return onTheWire(
    Buffer.from(`${lines.map((line) => line.replace(/^\./, '..')).join('\r\n')}\r\n`, 'latin1'),
  );
}
