import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { BOMBS } from '../../packages/server/test/hostile/bombs.ts';
import { SmtpClient } from '../support/smtp-client.ts';
import type { Findings } from './findings.ts';

const BOMB_BYTES = 256 * 1024;
/** One bomb in so many milliseconds. */
const BOMB_EVERY_MS = 1_000;
const SLOW_SENDERS = 4;
/** What a slow sender sends at once, and then each second. */
const SLOW_FIRST_BYTES = 15_600_000;
const SLOW_BYTES_PER_SECOND = 600;
const LINE = `${'x'.repeat(998)}\r\n`;

/** A connection that sends one mail after another and opens again when it was closed. */
export class HonestSender {
  readonly #port: number;
  readonly #findings: Findings;
  #client: SmtpClient | undefined;

  constructor(port: number, findings: Findings) {
    this.#port = port;
    this.#findings = findings;
  }

  /** Sends until the mail is accepted. A temporary refusal is counted and repeated, as real senders do. */
  async send(to: string, subject: string, what: string): Promise<void> {
    const code = subject.replaceAll(/\D/g, '').slice(-6).padStart(6, '7');
    const mail = Buffer.from(
      `From: Shop <shop@soak.example>\r\nTo: <${to}>\r\nSubject: ${subject}\r\nMIME-Version: 1.0\r\n` +
        `Content-Type: text/plain; charset=utf-8\r\n\r\nYour code is ${code}.\r\n${'A line of the mail.\r\n'.repeat(60)}.\r\n`,
    );
    for (;;) {
      try {
        this.#client ??= await SmtpClient.open(this.#port);
        const { ms } = await this.#client.send(to, mail);
        this.#findings.time(what, ms);
        this.#findings.count('mails accepted');
        return;
      } catch (error) {
        this.#client?.close();
        this.#client = undefined;
        const text = String(error);
        if (/got 5/.test(text)) this.#findings.fail(`an honest mail was rejected: ${text}`);
        this.#findings.count('mails refused for the moment');
        await pause(500);
      }
    }
  }

  close(): void {
    this.#client?.close();
  }
}

/** Sends mails that are expensive to read, one after another; any reply is fine. */
export async function sendBombs(
  port: number,
  to: string,
  findings: Findings,
  signal: AbortSignal,
): Promise<void> {
  for (let index = 0; !signal.aborted; index++) {
    const bomb = BOMBS[index % BOMBS.length]?.mail(BOMB_BYTES).toString('latin1') ?? '';
    const lines = bomb.split(/\r\n|\r|\n/).map((line) => line.replace(/^\./, '..'));
    try {
      const client = await SmtpClient.open(port);
      try {
        await client.send(to, Buffer.from(`${lines.join('\r\n')}\r\n.\r\n`, 'latin1'));
      } finally {
        client.close();
      }
      findings.count('bombs accepted');
    } catch {
      findings.count('bombs refused');
    }
    await pause(BOMB_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Holds connections that have sent much and go on slowly; each is opened again when the server closes it. */
export async function trickle(
  port: number,
  to: string,
  findings: Findings,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    Array.from({ length: SLOW_SENDERS }, async (_, index) => {
      while (!signal.aborted) {
        await trickleOnce(port, to, `127.0.0.${10 + index}`, signal);
        findings.count('slow senders closed by the server');
      }
    }),
  );
}

async function trickleOnce(
  port: number,
  to: string,
  localAddress: string,
  signal: AbortSignal,
): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined).resume();
  signal.addEventListener('abort', () => socket.destroy(), { once: true });
  socket.write(`EHLO slow.example\r\nMAIL FROM:<slow@soak.example>\r\nRCPT TO:<${to}>\r\nDATA\r\n`);
  await pause(1_000);
  for (let sent = 0; sent < SLOW_FIRST_BYTES && !socket.destroyed; sent += LINE.length * 1_000) {
    const isTaken = socket.write(LINE.repeat(1_000));
    if (!isTaken) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed]);
  }
  while (!socket.destroyed && !signal.aborted) {
    socket.write(`${'y'.repeat(SLOW_BYTES_PER_SECOND - 2)}\r\n`);
    await Promise.race([pause(1_000), closed]);
  }
  socket.destroy();
  await pause(1_000);
}
