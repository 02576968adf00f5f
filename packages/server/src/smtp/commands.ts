import { isIPv4, isIPv6 } from 'node:net';
import type { SmtpCredentials } from '../inbound/smtp-credentials.ts';
import { parseAddress, SOURCE_ROUTE } from '../mail/address.ts';
import { REPLIES, type Reply } from './replies.ts';

export interface MailCommand {
  /** '' is the null reverse-path. */
  mailFrom: string;
  /** The SIZE parameter, or 0. */
  declaredBytes: number;
  smtputf8: boolean;
}

/** The text after MAIL FROM: or RCPT TO:, without brackets and source route. */
interface Argument {
  path: string;
  parameters: Map<string, string | null>;
}

/** A path, whose quoted strings may contain `>`, and its parameters. */
const PATH = /^<((?:"(?:\\.|[^"\\])*"|[^">])*)>(.*)$/s;

function readArgument(argument: string | undefined, syntax: Reply, bad: Reply): Argument | Reply {
  if (argument === undefined) return syntax;
  const [, path, rest = ''] = PATH.exec(argument) ?? [];
  const words = rest.trim().split(/ +/).filter(Boolean);
  if (path === undefined || (words.length > 0 && !rest.startsWith(' '))) return bad;
  const parameters = new Map<string, string | null>();
  for (const word of words) {
    const [keyword = ''] = word.toUpperCase().split('=');
    if (parameters.has(keyword)) return REPLIES.parameterTwice;
    parameters.set(keyword, keyword.length < word.length ? word.slice(keyword.length + 1) : null);
  }
  return { path: path.replace(SOURCE_ROUTE, ''), parameters };
}

function addressProblem(path: string, smtputf8: boolean, bad: Reply): Reply | undefined {
  if (!smtputf8 && !/^[\0-\x7f]*$/.test(path)) return REPLIES.needSmtputf8;
  // U+FFFD: the decoder found bytes that are not UTF-8.
  return path.includes('\u{FFFD}') || !parseAddress(path, { smtputf8 }) ? bad : undefined;
}

/** Checks all parameters of MAIL except SIZE (RFC 6152, RFC 6531, RFC 4954 section 5). */
function parameterProblem(parameters: Argument['parameters'], allowsAuth: boolean): Reply | undefined {
  const known = ['SIZE', 'BODY', 'SMTPUTF8', ...(allowsAuth ? ['AUTH'] : [])];
  for (const keyword of parameters.keys()) if (!known.includes(keyword)) return REPLIES.unknownParameter;
  if (parameters.has('AUTH') && !parameters.get('AUTH')) return REPLIES.badAuthParameter;
  const body = parameters.get('BODY');
  if (body !== undefined && !/^(?:7BIT|8BITMIME)$/i.test(body ?? '')) return REPLIES.badBody;
  return typeof parameters.get('SMTPUTF8') === 'string' ? REPLIES.badSmtputf8 : undefined;
}

/** Parses a MAIL command (RFC 5321 section 4.1.1.2). @param allowsAuth whether AUTH was offered or used */
export function readMail(line: string, allowsAuth = false): MailCommand | Reply {
  const text = /^MAIL +FROM: *(.*)$/is.exec(line)?.[1];
  const argument = readArgument(text, REPLIES.mailSyntax, REPLIES.badSender);
  if ('code' in argument) return argument;
  const { path: mailFrom, parameters } = argument;
  const smtputf8 = parameters.has('SMTPUTF8');
  const problem = parameterProblem(parameters, allowsAuth);
  if (problem) return problem;
  const badAddress = mailFrom === '' ? undefined : addressProblem(mailFrom, smtputf8, REPLIES.badSender);
  if (badAddress) return badAddress;
  // The SIZE parameter (RFC 1870 section 3).
  const size = parameters.has('SIZE') ? parameters.get('SIZE') : '0';
  return /^\d{1,20}$/.test(size ?? '')
    ? { mailFrom, declaredBytes: Number(size), smtputf8 }
    : REPLIES.badSize;
}

/** Parses a RCPT command (section 4.1.1.3). No extension with parameters of RCPT is offered. */
export function readRcpt(line: string, smtputf8: boolean): { rcptTo: string } | Reply {
  const text = /^RCPT +TO: *(.*)$/is.exec(line)?.[1];
  const argument = readArgument(text, REPLIES.recipientSyntax, REPLIES.badRecipient);
  if ('code' in argument) return argument;
  const { path: rcptTo, parameters } = argument;
  if (parameters.size > 0) return REPLIES.unknownParameter;
  if (rcptTo.toLowerCase() === 'postmaster') return { rcptTo };
  return addressProblem(rcptTo, smtputf8, REPLIES.badRecipient) ?? { rcptTo };
}

/** At most 63 letters (RFC 1035 section 2.3.4). Allows underscores, used in container names, and other scripts. */
const LABEL = /^(?=.{1,63}$)[\p{L}\p{N}_](?:[\p{L}\p{N}\p{M}_-]*[\p{L}\p{N}\p{M}_])?$/u;
const LITERAL = /^\[(?:(IPv6):)?([^\]]*)\]$/i;

/** Whether it is a valid HELO name (sections 4.1.1.1, 4.1.2 and 4.1.3). The tag `IPv6:` is optional. */
export function isHelloName(name: string): boolean {
  if (name === '' || name.length > 255) return false;
  if (name.startsWith('[')) {
    const [, tag, address = ''] = LITERAL.exec(name) ?? [];
    return (tag === undefined && isIPv4(address)) || (!address.includes('%') && isIPv6(address));
  }
  const labels = name.replace(/\.$/, '').split('.');
  return labels.every((label) => LABEL.test(label));
}

/** The challenges of each mechanism, in base64; those of LOGIN are `Username:` and `Password:`. */
const CHALLENGES: ReadonlyMap<string, readonly string[]> = new Map([
  ['PLAIN', ['']],
  ['LOGIN', ['VXNlcm5hbWU6', 'UGFzc3dvcmQ6']],
]);
/** The mechanisms as listed in the reply to EHLO. */
export const MECHANISMS = [...CHALLENGES.keys()].join(' ');
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** AUTH (RFC 4954 section 4). @param ask sends a challenge; resolves with the next line, undefined if there is none */
export async function readCredentials(
  line: string,
  ask: (challenge: Reply) => Promise<string | undefined>,
): Promise<SmtpCredentials | Reply | undefined> {
  const [, mechanism = '', initial, ...more] = line.trimEnd().split(/ +/);
  if (mechanism === '' || more.length > 0) return REPLIES.authSyntax;
  const challenges = CHALLENGES.get(mechanism.toUpperCase());
  if (!challenges) return REPLIES.unknownMechanism;
  // "=" is an empty initial response.
  let given = initial === '=' ? '' : initial;
  const responses: string[] = [];
  for (const text of challenges) {
    const response = given ?? (await ask({ code: 334, enhanced: '', text }))?.trimEnd();
    if (response === undefined) return undefined;
    if (response === '*' && given === undefined) return REPLIES.authCancelled;
    if (!BASE64.test(response)) return REPLIES.badBase64;
    responses.push(Buffer.from(response, 'base64').toString());
    given = undefined;
  }
  const [first = '', second] = responses;
  return second === undefined ? readPlain(first) : { authorizeAs: '', username: first, password: second };
}

/** RFC 4616 section 2: [authzid] NUL authcid NUL passwd. */
function readPlain(response: string): SmtpCredentials | Reply {
  const [authorizeAs = '', username = '', password = '', ...more] = response.split('\0');
  const isWhole = username !== '' && password !== '' && more.length === 0;
  return isWhole ? { authorizeAs, username, password } : REPLIES.badPlainResponse;
}
