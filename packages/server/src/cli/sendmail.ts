import { buffer } from 'node:stream/consumers';
import { type ParseArgsConfig, parseArgs } from 'node:util';
import { codeOf, messageOf } from '../errors.ts';
import { newSessionId } from '../ids.ts';
import { parseAddressList } from '../mail/mime/address-list.ts';
import { formatDate } from '../mail/mime/date.ts';
import type { HostPort } from '../text/host-port.ts';
import { ArgumentError, type Edge } from './arguments.ts';
import {
  DEFAULT_PORT,
  deliver,
  type Envelope,
  encodeHeader,
  reachable,
  readServer,
  SmtpRejection,
} from './mail.ts';

// `mayfly sendmail`: sendmail(8) for programs without SMTP, such as PHP's mail(). Built as a separate
// bundle, because loading the rest of the program takes longer than sending a mail.

/** Exit codes of sysexits(3). */
const EXIT = { ok: 0, usage: 64, noUser: 67, unavailable: 69, tempFail: 75 };

/** Options of sendmail(8). Many of these have no effect. An option that is not listed is an error. */
const FLAGS = [...'inmtvGU'];
const WITH_VALUE = [...'fFrSbBACDhLNeopRVX'];
const OPTIONS: NonNullable<ParseArgsConfig['options']> = {
  'smtp-addr': { type: 'string', multiple: true },
  server: { type: 'string', multiple: true },
};
for (const short of FLAGS) OPTIONS[short] = { type: 'boolean', short };
for (const short of WITH_VALUE) OPTIONS[short] = { type: 'string', short, multiple: true };

type Options = ReturnType<typeof readArguments>;

function readArguments(args: string[]) {
  try {
    const { values, positionals } = parseArgs({ args, options: OPTIONS, allowPositionals: true });
    const given = (...names: string[]) => names.flatMap((name) => values[name] ?? []).map(String);
    const last = (...names: string[]) => given(...names).at(-1);
    const mode = given('b').find((value) => value !== 'm');
    if (mode !== undefined) throw new Error(`-b${mode} is not offered: only mail on standard input is sent`);
    return {
      readsHeader: values.t === true,
      /** Whether a line with only a dot ends the mail. */
      endsAtDot: values.i !== true && !given('o').includes('i'),
      sender: last('f', 'r')?.replace(/^<(.*)>$/s, '$1'),
      name: last('F') ?? '',
      server: last('S', 'smtp-addr', 'server'),
      recipients: positionals,
    };
  } catch (error) {
    // Only the first sentence: Node.js adds advice about "--" that does not apply to sendmail.
    const [reason] = messageOf(error).split(/\. |\.$/);
    throw new ArgumentError(`${reason}. Use -t, -i, -f ADDRESS, -F NAME, --server HOST:PORT and recipients.`);
  }
}

/** @param list addresses, decoded as Latin-1 to keep each byte. A name without a domain is a user of this machine. */
const addressesIn = (list: string): string[] =>
  parseAddressList(list.replaceAll(/\r\n/g, ''))
    .mailboxes.map(({ address, name }) => address || (/^\S+$/.test(name) ? `${name}@localhost` : ''))
    .filter(Boolean);

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

/** Builds envelope and mail: adds missing fields; -t removes Bcc. @param user who sends the mail */
function prepare(input: Buffer, options: Options, user: string, now: number): Envelope {
  let text = input.toString('latin1').replace(/^From [^\n]*\n/, '');
  if (options.endsAtDot) text = text.replace(/(^|\n)\.\r?(?:\n[\s\S]*)?$/, '$1');
  text = text.replaceAll(/\r?\n/g, '\r\n').replace(/([^\n])$/, '$1\r\n');
  const [header = ''] = /^(?:[!-9;-~]+[ \t]*:[^\n]*\n(?:[ \t][^\n]*\n)*)*/.exec(text) ?? [];
  const fields = header.match(/[^\n]+\n(?:[ \t][^\n]*\n)*/g) ?? [];
  const isNamed = (field: string, ...names: string[]): boolean =>
    names.includes(/^[^:\s]+/.exec(field)?.[0].toLowerCase() ?? '');
  const valuesOf = (...names: string[]): string[] =>
    fields
      .filter((field) => isNamed(field, ...names))
      .flatMap((field) => addressesIn(field.slice(field.indexOf(':') + 1)));

  const to = options.recipients.flatMap((recipient) => addressesIn(latin1(recipient)));
  if (options.readsHeader) to.push(...valuesOf('to', 'cc', 'bcc'));
  const from = options.sender ?? valuesOf('from')[0] ?? `${user}@localhost`;
  const kept = options.readsHeader ? fields.filter((field) => !isNamed(field, 'bcc')) : fields;
  const lacks = (name: string): boolean => !fields.some((field) => isNamed(field, name));
  const name = options.name === '' ? '' : `${encodeHeader(options.name)} `;
  const added = [
    ...(lacks('from') ? [`From: ${latin1(`${name}<${from}>`)}\r\n`] : []),
    ...(lacks('date') ? [`Date: ${formatDate(now)}\r\n`] : []),
    ...(lacks('message-id') ? [`Message-ID: <${newSessionId()}@localhost>\r\n`] : []),
  ];
  const body = text.slice(header.length).replace(/^\r\n/, '');
  const mail = Buffer.from(`${added.join('')}${kept.join('')}\r\n${body}`, 'latin1');
  return { mail, from, to: [...new Set(to)] };
}

/** Returns the named server, otherwise the default ones of `mayfly dev` and `mayfly dev --like mailpit`. */
function serversOf({ server }: Options, env: Edge['env']): HostPort[] {
  const named = server ?? env.MP_SENDMAIL_SMTP_ADDR ?? env.MH_SENDMAIL_SMTP_ADDR;
  if (named !== undefined) return [readServer(named)];
  const host = reachable(env.MAYFLY_SMTP_HOST ?? '127.0.0.1');
  const ports = Number(env.MAYFLY_SMTP_PORT) ? [Number(env.MAYFLY_SMTP_PORT)] : [DEFAULT_PORT, 1025];
  return ports.map((port) => ({ host, port }));
}

/** Every server must accept this many recipients of a mail (RFC 5321 section 4.5.3.1.8). */
const RECIPIENTS_AT_ONCE = 100;

/** Sends to the first server that accepts a connection. @returns the rejected recipients */
async function send(servers: readonly HostPort[], { mail, from, to }: Envelope): Promise<SmtpRejection[]> {
  const [server, ...others] = servers as [HostPort, ...HostPort[]];
  const all: SmtpRejection[] = [];
  try {
    for (let at = 0; at < to.length; at += RECIPIENTS_AT_ONCE) {
      const { rejected } = await deliver(server, { from, to: to.slice(at, at + RECIPIENTS_AT_ONCE), mail });
      all.push(...rejected);
    }
    return all;
  } catch (error) {
    if (codeOf(error) !== 'ECONNREFUSED' || others.length === 0) throw error;
    return send(others, { mail, from, to });
  }
}

const exitCodeOf = ({ message }: SmtpRejection, permanent: number): number =>
  message.startsWith('4') ? EXIT.tempFail : permanent;

function explain(error: unknown, servers: readonly HostPort[]): { code: number; text: string } {
  if (error instanceof ArgumentError) return { code: EXIT.usage, text: error.message };
  const where = servers.map(({ host, port }) => `${host}:${port}`).join(' and ');
  if (error instanceof SmtpRejection)
    return {
      code: exitCodeOf(error, EXIT.unavailable),
      text: `The server at ${where} rejected the mail: ${error.message}`,
    };
  return {
    code: EXIT.tempFail,
    text: `No server can be reached at ${where} (${messageOf(error)}). Start "mayfly dev", or name the server with --server HOST:PORT.`,
  };
}

/** @returns the exit code, and an error message of one line or '' */
export async function sendmail(
  args: string[],
  { input, env, now }: { input(): Promise<Buffer>; env: Edge['env']; now: number },
): Promise<{ code: number; text: string }> {
  let servers: HostPort[] = [];
  try {
    const options = readArguments(args);
    servers = serversOf(options, env);
    if (!options.readsHeader && options.recipients.length === 0)
      throw new ArgumentError('A recipient is missing. Name one, or use -t to read them from the header.');
    const mail = prepare(await input(), options, env.USER ?? 'nobody', now);
    if (mail.to.length === 0) throw new ArgumentError('The mail has no recipient in To, Cc or Bcc.');
    const rejected = await send(servers, mail);
    const [first] = rejected;
    if (!first) return { code: EXIT.ok, text: '' };
    const addresses = rejected.map(({ recipient }) => recipient).join(', ');
    return { code: exitCodeOf(first, EXIT.noUser), text: `Not sent to ${addresses}: ${first.message}` };
  } catch (error) {
    return explain(error, servers);
  }
}

export async function main(own: NodeJS.Process, now: number): Promise<void> {
  const edge = { input: () => buffer(own.stdin), env: own.env, now };
  const { code, text } = await sendmail(own.argv.slice(3), edge);
  if (text !== '') own.stderr.write(`mayfly sendmail: ${text.replaceAll(/\s+/g, ' ')}\n`);
  own.exitCode = code;
}
