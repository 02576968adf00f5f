import { connect } from 'node:net';
import { type ConnectionOptions, connect as connectTls } from 'node:tls';
import { RawClient } from './raw-client.ts';

/**
 * A command and its expected reply. `'NOOP → 250 2.0.0'` is a line and the beginning of the last line of the reply;
 * `'→ 220'` only waits for a reply.
 */
export type Step = string | Exchange;

interface Exchange {
  /** A line without CRLF, or bytes. Nothing: only wait for a reply. */
  send?: string | Uint8Array;
  /**
   * The reply: its code, the beginning of its last line, or a pattern for all of it. An array: several replies in this
   * order. Nothing: do not wait.
   */
  expect?: Expected | Expected[];
}
export type Expected = number | string | RegExp;

/** The response of AUTH PLAIN, in base64. */
export const plainResponse = (user: string, password: string, authorizeAs = ''): string =>
  Buffer.from(`${authorizeAs}\0${user}\0${password}`).toString('base64');

const REPLY = /^(?:\d{3}-[^\r\n]*\r\n)*\d{3}(?: [^\r\n]*)?\r\n/;

export class SmtpClient extends RawClient {
  /** The next whole reply, its lines joined by LF; '' when the server closed the connection instead. */
  async reply(): Promise<string> {
    const found = await this.take((text) => REPLY.exec(text)?.[0].length ?? 0);
    return found.trimEnd().replaceAll('\r\n', '\n');
  }

  send(bytes: string | Uint8Array): Promise<void> {
    return new Promise((resolve) => {
      this.socket.write(bytes, () => resolve());
    });
  }

  /** Sends a line. @returns the reply */
  async say(line: string): Promise<string> {
    await this.send(`${line}\r\n`);
    return this.reply();
  }

  /** Runs the steps in order; throws at the first unexpected reply. */
  async play(steps: Step[]): Promise<void> {
    for (const step of steps.map(exchangeOf)) {
      if (step.send !== undefined) {
        await this.send(typeof step.send === 'string' ? `${step.send}\r\n` : step.send);
      }
      const expected = step.expect === undefined ? [] : [step.expect].flat();
      for (const one of expected) {
        const reply = await this.reply();
        if (!matches(reply, one))
          throw new Error(`${said(step)}: expected ${one}, got ${JSON.stringify(reply)}`);
      }
    }
  }

  /** Starts the TLS handshake, after the 220 to STARTTLS. */
  async startTls(trust: ConnectionOptions = {}): Promise<void> {
    this.socket.removeAllListeners();
    const secure = connectTls({ ...trust, socket: this.socket });
    await new Promise<void>((resolve, reject) => {
      secure.once('secureConnect', resolve).once('error', reject);
    });
    this.listen(secure);
  }

  close(): void {
    this.socket.destroy();
  }
}

function exchangeOf(step: Step): Exchange {
  if (typeof step !== 'string') return step;
  const arrow = step.lastIndexOf('→ ');
  if (arrow < 0) throw new Error(`This step has no reply: ${step}`);
  return { ...(arrow > 0 && { send: step.slice(0, arrow - 1) }), expect: step.slice(arrow + 2) };
}

function said(step: Exchange): string {
  if (step.send === undefined) return '(nothing sent)';
  return JSON.stringify(Buffer.from(step.send).toString('latin1').slice(0, 200));
}

function matches(reply: string, expected: Expected): boolean {
  const last = reply.split('\n').at(-1) ?? '';
  if (typeof expected === 'number') return last.startsWith(String(expected));
  return typeof expected === 'string' ? last.startsWith(expected) : expected.test(reply);
}

/** Connects. @param options `tls` is for ports with implicit TLS */
export async function smtpClient(
  port: number,
  options: { host?: string; tls?: ConnectionOptions; localAddress?: string } = {},
): Promise<SmtpClient> {
  const { host = '127.0.0.1', tls, localAddress } = options;
  const socket = tls
    ? connectTls({ ...tls, port, host })
    : connect({ port, host, ...(localAddress && { localAddress }) });
  socket.setNoDelay(true);
  const client = new SmtpClient(socket);
  await new Promise<void>((resolve, reject) => {
    socket.once(tls ? 'secureConnect' : 'connect', resolve).once('error', reject);
  });
  return client;
}

/** Runs steps on a new connection; the greeting is the first reply. */
export async function playSmtp(port: number, steps: Step[]): Promise<void> {
  const client = await smtpClient(port);
  try {
    await client.play(steps);
  } finally {
    client.close();
  }
}
