import { Socket } from 'node:net';

const TIME_LIMIT_MS = 15_000;
/** RFC 2045 section 6.8: the longest line of base64. */
const BASE64_LINE = 76;
/** RFC 5322 section 2.1.1. */
const MAX_LINE = 998;
/** RFC 2047 section 2 limits lines to 76 characters: these bytes, as base64, fit after "Subject: ". */
const ENCODED_WORD_BYTES = 36;

export interface OutgoingMessage {
  from: string;
  to: readonly string[];
  subject: string;
  /** Plain text; lines end with LF. */
  body: string;
}

/** A command that the server rejected. */
export class SmtpRejection extends Error {
  override readonly name = 'SmtpRejection';
  /** The rejected recipient; null for other commands. */
  readonly recipient: string | null;
  readonly reply: string;

  constructor(reply: string, recipient: string | null) {
    super(reply);
    this.reply = reply;
    this.recipient = recipient;
  }
}

const isAscii = (text: string): boolean => /^[\x20-\x7e\n\t]*$/.test(text);

/** One line of header text, encoded by RFC 2047 if it is not ASCII. */
function encodeHeader(text: string): string {
  const line = text.replaceAll(/[\r\n]+/g, ' ');
  if (isAscii(line)) return line;
  const words: string[] = [];
  let word = '';
  for (const character of line) {
    if (Buffer.byteLength(word + character) > ENCODED_WORD_BYTES) {
      words.push(word);
      word = '';
    }
    word += character;
  }
  return [...words, word].map((one) => `=?utf-8?B?${Buffer.from(one).toString('base64')}?=`).join('\r\n ');
}

/** Formats a message (RFC 5322) with CRLF. @param now epoch milliseconds, for Date and Message-ID */
export function compose({ from, to, subject, body }: OutgoingMessage, now: number): string {
  const lines = body.split('\n');
  const isPlain = isAscii(body) && lines.every((line) => line.length <= MAX_LINE);
  const content = isPlain
    ? lines
    : (Buffer.from(lines.join('\r\n'))
        .toString('base64')
        .match(RegExp(`.{1,${BASE64_LINE}}`, 'g')) ?? []);
  return [
    `From: ${from}`,
    `To: ${to.join(', ')}`,
    `Subject: ${encodeHeader(subject)}`,
    `Date: ${new Date(now).toUTCString().replace('GMT', '+0000')}`,
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

/**
 * Sends a message by SMTP (RFC 5321), without TLS and authentication.
 * @returns the server's reply to the message
 * @throws SmtpRejection; Error of the system call when there is no connection
 */
export async function sendMessage(
  server: { host: string; port: number },
  message: OutgoingMessage,
  now: number,
): Promise<string> {
  const socket = new Socket({ signal: AbortSignal.timeout(TIME_LIMIT_MS) });
  socket.setEncoding('utf8').connect(server);
  const replies = readReplies(socket);
  const say = async (
    line: string | null,
    expected: RegExp,
    recipient: string | null = null,
  ): Promise<string> => {
    if (line !== null) socket.write(`${line}\r\n`);
    const { value: reply } = await replies.next();
    if (!expected.test(reply)) throw new SmtpRejection(reply, recipient);
    return reply;
  };
  try {
    await say(null, /^220/);
    await say('EHLO localhost', /^250/);
    await say(`MAIL FROM:<${message.from}>`, /^250/);
    for (const recipient of message.to) await say(`RCPT TO:<${recipient}>`, /^25/, recipient);
    await say('DATA', /^354/);
    const stored = await say(`${compose(message, now).replaceAll(/^\./gm, '..')}.`, /^250/);
    socket.end('QUIT\r\n');
    return stored;
  } finally {
    socket.destroySoon();
  }
}
