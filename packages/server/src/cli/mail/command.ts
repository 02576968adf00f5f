import type { Command } from 'commander';
import type { Config } from '../../config/config.ts';
import { quoted } from '../../text/nearest.ts';
import { ArgumentError } from '../arguments.ts';
import { SmtpRejection, sendMessage } from './smtp-client.ts';

export interface MailEdge {
  /** As `mayfly dev` reads them. */
  readConfig(): Config;
  print(text: string): void;
  now(): number;
}

interface MailOptions {
  server?: string;
  from: string;
  subject: string;
  body: string;
}

/** Used if the setting is 0, which means any free port. */
const DEFAULT_PORT = 2525;
/** Wildcard addresses to listen on, and what a client connects to instead. */
const EVERYWHERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

/** `host`, `host:port`, `[v6]:port` or `:port`. @throws ArgumentError */
function readServer(text: string): { host: string; port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]*))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port ?? 0) > 65_535) {
    throw new ArgumentError(`${quoted(text)} is not a server. Use HOST:PORT, such as 127.0.0.1:2525.`);
  }
  return { host: host || '127.0.0.1', port: Number(port ?? DEFAULT_PORT) };
}

/** @throws ArgumentError */
function readAddress(text: string): string {
  if (/^inb_/.test(text)) {
    throw new ArgumentError(
      `${quoted(text)} is the id of an inbox. Use its address, the field "address" of the response that created it.`,
    );
  }
  if (!/^[^\s<>@]+@[^\s<>@]+$/.test(text)) {
    throw new ArgumentError(`${quoted(text)} is not an email address. Use one such as name@mayfly.test.`);
  }
  return text;
}

/** Such as ECONNREFUSED, or a sentence without its full stop. */
const shortReason = (error: Error): string =>
  'code' in error ? String(error.code) : error.message.replace(/\.$/, '');

function explain(error: unknown, where: string): unknown {
  if (error instanceof SmtpRejection) {
    const { recipient, reply } = error;
    if (recipient === null) return new Error(`The server ${where} rejected the message: ${reply}`);
    return new Error(
      `The server ${where} rejected the recipient ${recipient}: ${reply}\nCreate an inbox first, and use its address before it expires. The curl command that "npm start" prints creates one.`,
    );
  }
  if (!(error instanceof Error)) return error;
  const reason = error.name === 'AbortError' ? 'it did not answer in time' : shortReason(error);
  return new Error(
    `No SMTP server can be reached at ${where} (${reason}). Start Mayfly with "npm start", or name the server with --server HOST:PORT.`,
  );
}

export function addMailCommand(program: Command, { readConfig, print, now }: MailEdge): void {
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
    .action(async (addresses: string[], { server, from, subject, body }: MailOptions) => {
      const to = addresses.map(readAddress);
      const { smtpHost, smtpPort } = readConfig();
      const target =
        server === undefined
          ? { host: EVERYWHERE[smtpHost] ?? smtpHost, port: smtpPort || DEFAULT_PORT }
          : readServer(server);
      const where = `${target.host}:${target.port}`;
      try {
        const message = { from: readAddress(from), to, subject, body };
        const reply = await sendMessage(target, message, now());
        print(`Sent to ${to.join(', ')} by ${where}: ${reply}`);
      } catch (error) {
        throw error instanceof ArgumentError ? error : explain(error, where);
      }
    });
}
