import { Socket } from 'node:net';
import type { Command } from 'commander';
import type { Config } from '../config/config.ts';
import { codeOf, messageOf } from '../errors.ts';
import { formatDate } from '../mail/mime/date.ts';
import { type HostPort, splitPort } from '../text/host-port.ts';
import { quoted } from '../text/nearest.ts';
import { ArgumentError, type Edge } from './arguments.ts';

/** The longest line of a message, without CRLF (RFC 5322 section 2.1.1). */
const MAX_LINE = 998;

/** A command that the server rejected. The message of the error is the server's reply. */
export class SmtpRejection extends Error {
  override readonly name = 'SmtpRejection';
  readonly recipient: string | null;

  constructor(reply: string, recipient: string | null) {
    super(reply);
    this.recipient = recipient;
  }
}

const isAscii = (text: string): boolean => /^[\x20-\x7e\n\t]*$/.test(text);

/** Returns the value of one header field. Text that is not ASCII is encoded (RFC 2047). */
export function encodeHeader(text: string): string {
  const line = text.replaceAll(/[\r\n]+/g, ' ');
  if (isAscii(line)) return line;
  // Lines may have 76 characters (RFC 2047): "Subject: " and nine characters of four bytes in base64 fit.
  const words = line.match(/.{1,9}/gsu) ?? [];
  return words.map((one) => `=?utf-8?B?${Buffer.from(one).toString('base64')}?=`).join('\r\n ');
}

interface OutgoingMessage {
  from: string;
  to: readonly string[];
  subject: string;
  body: string;
}

export function compose({ from, to, subject, body }: OutgoingMessage, now: number): string {
  const lines = body.split('\n');
  const isPlain = isAscii(body) && lines.every((line) => line.length <= MAX_LINE);
  const content = isPlain
    ? lines
    : (Buffer.from(lines.join('\r\n'))
        .toString('base64')
        .match(/.{1,76}/g) ?? []);
  return [
    `From: ${from}`,
    `To: ${to.join(', ')}`,
    `Subject: ${encodeHeader(subject)}`,
    `Date: ${formatDate(now)}`,
    `Message-ID: <${now}.${from}>`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Transfer-Encoding: ${isPlain ? '7bit' : 'base64'}`,
    '',
    ...content,
    '',
  ].join('\r\n');
}

async function* readReplies(socket: Socket): AsyncGenerator<string, never> {
  let text = '';
  for await (const piece of socket) {
    text += piece;
    for (;;) {
      const [reply] = /^(?:\d{3}-[^\n]*\n)*\d{3}(?: [^\n]*)?\n/.exec(text) ?? [];
      if (reply === undefined) break;
      text = text.slice(reply.length);
      yield reply.trimEnd();
    }
  }
  throw new Error('The server closed the connection.');
}

/** Connects to an SMTP server. `next` waits for a reply; `say` sends a command and waits for its reply. */
export function openDialog(server: HostPort, timeoutMs: number) {
  const socket = new Socket({ signal: AbortSignal.timeout(timeoutMs) });
  socket.setEncoding('utf8').connect(server);
  const replies = readReplies(socket);
  const next = async (): Promise<string> => (await replies.next()).value;
  const say = (line: string): Promise<string> => {
    socket.write(`${line}\r\n`);
    return next();
  };
  return { socket, next, say };
}

export interface Envelope {
  from: string;
  to: readonly string[];
  /** Every line ends with CRLF. */
  mail: Buffer;
}

/** The bytes that follow the DATA command, with dots doubled (RFC 5321 section 4.5.2). */
const withDots = (mail: Buffer): Buffer =>
  Buffer.from(`${mail.toString('latin1').replaceAll(/(^|\n)\./g, '$1..')}.\r\n`, 'latin1');

/** Parameters of the MAIL command for addresses and messages that are not ASCII (RFC 6152, RFC 6531). */
function parametersFor({ from, to, mail }: Envelope): string {
  const isAll = [from, ...to].every(isAscii);
  return `${isAll ? '' : ' SMTPUTF8'}${isAll && mail.every((byte) => byte < 0x80) ? '' : ' BODY=8BITMIME'}`;
}

function requireReply(start: string, reply: string): void {
  if (!reply.startsWith(start)) throw new SmtpRejection(reply, null);
}

/** @returns `reply`: '' if no recipient is accepted @throws SmtpRejection if any command but RCPT fails */
export async function deliver(server: HostPort, envelope: Envelope) {
  const { socket, next, say } = openDialog(server, 15_000);
  const rejected: SmtpRejection[] = [];
  let reply = '';
  try {
    requireReply('220', await next());
    requireReply('250', await say('EHLO localhost'));
    requireReply('250', await say(`MAIL FROM:<${envelope.from}>${parametersFor(envelope)}`));
    for (const recipient of envelope.to) {
      const answer = await say(`RCPT TO:<${recipient}>`);
      if (!answer.startsWith('25')) rejected.push(new SmtpRejection(answer, recipient));
    }
    if (rejected.length < envelope.to.length) {
      requireReply('354', await say('DATA'));
      socket.write(withDots(envelope.mail));
      reply = await next();
      requireReply('250', reply);
    }
    socket.end('QUIT\r\n');
    return { reply, rejected };
  } finally {
    socket.destroySoon();
  }
}

export const DEFAULT_PORT = 2525;
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** The address to connect to from this machine if a server listens on `host`: loopback for a wildcard address. */
export const reachable = (host: string): string => EVERYWHERE[host] ?? host;

export function readServer(text: string): HostPort {
  const { host, port = DEFAULT_PORT } = splitPort(text) ?? {};
  if (host === undefined || Number(port) > 65_535)
    throw new ArgumentError(`${quoted(text)} is not a server. Use HOST:PORT, such as 127.0.0.1:2525.`);
  return { host: host || '127.0.0.1', port: Number(port) };
}

function readAddress(text: string): string {
  if (/^inb_/.test(text))
    throw new ArgumentError(
      `${quoted(text)} is the id of an inbox. Use its address, the field "address" of the response that created it.`,
    );
  if (!/^[^\s<>@]+@[^\s<>@]+$/.test(text))
    throw new ArgumentError(`${quoted(text)} is not an email address. Use one such as name@mayfly.test.`);
  return text;
}

function explain(error: unknown, where: string): unknown {
  if (error instanceof SmtpRejection) {
    const { recipient, message: reply } = error;
    if (recipient === null) return new Error(`The server ${where} rejected the message: ${reply}`);
    const advice = reply.startsWith('4')
      ? 'The server takes no mail at the moment. Send it again later; the log of the server says why.'
      : 'Create an inbox first, and use its address before it expires. The curl command that "mayfly dev" prints creates one.';
    return new Error(`The server ${where} rejected the recipient ${recipient}: ${reply}\n${advice}`);
  }
  const reason =
    codeOf(error) === 'ABORT_ERR' ? 'it did not answer in time' : codeOf(error) || messageOf(error);
  return new Error(
    `No SMTP server can be reached at ${where} (${reason}). Start Mayfly with "npm start", or name the server with --server HOST:PORT.`,
  );
}

type MailOptions = Omit<OutgoingMessage, 'to'> & { server?: string };

/** @param readConfig a parameter, because an import would slow down `sendmail`, which loads this file too */
export function addMailCommand(
  program: Command,
  edge: Pick<Edge, 'print' | 'now'>,
  readConfig: () => Config,
) {
  program
    .command('mail')
    .description('Send a message by SMTP, to try an inbox')
    .argument('<address...>', 'Recipients, such as the address of an inbox')
    .option(
      '--server <host:port>',
      'SMTP server (default: by MAYFLY_SMTP_HOST and MAYFLY_SMTP_PORT, else 127.0.0.1:2525)',
    )
    .option('--from <address>', 'Sender', 'sender@example.com')
    .option('--subject <text>', 'Subject', 'Your code')
    .option('--body <text>', 'Text of the message', 'Your code is 482910.')
    .action(async (addresses: string[], { server, ...options }: MailOptions) => {
      const to = addresses.map(readAddress);
      const from = readAddress(options.from);
      const { smtpHost, smtpPort } = readConfig();
      const target = server
        ? readServer(server)
        : { host: reachable(smtpHost), port: smtpPort || DEFAULT_PORT };
      const where = `${target.host}:${target.port}`;
      const mail = Buffer.from(compose({ ...options, from, to }, edge.now()));
      try {
        const { reply, rejected } = await deliver(target, { from, to, mail });
        if (rejected[0]) throw rejected[0];
        edge.print(`Sent to ${to.join(', ')} by ${where}: ${reply}`);
      } catch (error) {
        throw explain(error, where);
      }
    });
}
