import { isIPv4, isIPv6 } from 'node:net';
import { AppError, type ErrorCode } from '../errors.ts';
import type { SmtpCredentials } from '../inbound/smtp-credentials.ts';
import { parseAddress, SOURCE_ROUTE } from '../mail/address.ts';

/** A reply of one line (RFC 5321 section 4.2). */
export interface Reply {
  code: number;
  /** The enhanced status code of RFC 3463; '' for 3yz replies, which have none (RFC 2034 section 4). */
  enhanced: string;
  text: string;
}

/** `reply` does not count for `maxErrors`; null sends none. `disconnects` closes the connection after it. */
export interface Outcome {
  reply: Reply | null;
  disconnects: boolean;
}

const reply = (code: number, enhanced: string, text: string): Reply => ({ code, enhanced, text });

export const replyLine = ({ code, enhanced, text }: Reply): string =>
  enhanced === '' ? `${code} ${text}` : `${code} ${enhanced} ${text}`;

export const REPLIES = {
  help: reply(214, '2.0.0', 'See https://tools.ietf.org/html/rfc5321 for details'),
  readyForTls: reply(220, '2.0.0', 'Ready to start TLS'),
  goodbye: reply(221, '2.0.0', 'Bye'),
  authenticated: reply(235, '2.7.0', 'Authentication successful'),
  senderOk: reply(250, '2.1.0', 'Sender OK'),
  recipientOk: reply(250, '2.1.5', 'Recipient OK'),
  stored: reply(250, '2.0.0', 'Message stored'),
  ok: reply(250, '2.0.0', 'OK'),
  flushed: reply(250, '2.0.0', 'Flushed'),
  cannotVerify: reply(252, '2.1.5', 'Cannot verify the address; RCPT TO checks it'),

  startData: reply(354, '', 'End data with <CR><LF>.<CR><LF>'),

  shuttingDown: reply(421, '4.3.2', 'Shutting down, try again soon'),
  tooManyConnections: reply(421, '4.3.2', 'Too many connections, try again soon'),
  makesRoom: reply(421, '4.3.2', 'Idle connection closed to make room for others'),
  tooManyFromYou: reply(421, '4.7.0', 'Too many connections from your address'),
  tooManyErrors: reply(421, '4.7.0', 'Too many errors'),
  tooManyFailedAuths: reply(421, '4.7.0', 'Too many failed authentications'),
  tooManyCommands: reply(421, '4.7.0', 'Too many commands without a mail'),
  endlessLine: reply(421, '4.7.0', 'Line without an end'),
  idle: reply(421, '4.4.2', 'No command for too long'),
  tooSlow: reply(421, '4.4.2', 'Data comes too slowly'),
  slowerThanOthersNeed: reply(421, '4.4.2', 'Data comes too slowly while others wait, try again later'),
  sessionTooLong: reply(421, '4.4.2', 'Session lasts too long'),
  tryLater: reply(451, '4.3.0', 'Temporary trouble here, try again later'),
  inboxFull: reply(452, '4.2.2', 'Inbox is full'),
  tooManyRecipients: reply(452, '4.5.3', 'Too many recipients'),
  authUnavailable: reply(454, '4.7.0', 'Temporary authentication failure, try again later'),

  lineTooLong: reply(500, '5.5.2', 'Command line too long'),
  unknownCommand: reply(500, '5.5.2', 'Command not recognized'),
  controlCharacter: reply(500, '5.5.2', 'Control character in command'),
  notSmtp: reply(500, '5.5.1', 'This is an SMTP server'),
  untrustedProxy: reply(500, '5.5.1', 'PROXY is not allowed from your address'),
  authLineTooLong: reply(500, '5.5.6', 'Authentication exchange line is too long'),
  bareLineFeed: reply(500, '5.5.2', 'A command line must end with CR LF, not with LF alone'),
  badBase64: reply(501, '5.5.2', 'Cannot decode the response: it must be base64'),
  badPlainResponse: reply(501, '5.5.2', 'A PLAIN response must be NUL, user name, NUL, password'),
  authSyntax: reply(501, '5.5.4', 'Syntax: AUTH PLAIN [response] or AUTH LOGIN [response]'),
  authCancelled: reply(501, '5.7.0', 'Authentication cancelled'),
  badAuthParameter: reply(501, '5.5.4', 'The AUTH parameter needs a value'),
  noArgument: reply(501, '5.5.4', 'This command takes no argument'),
  mailSyntax: reply(501, '5.5.4', 'Syntax: MAIL FROM:<address>'),
  recipientSyntax: reply(501, '5.5.4', 'Syntax: RCPT TO:<address>'),
  badSender: reply(501, '5.1.7', 'Bad sender address syntax'),
  badRecipient: reply(501, '5.1.3', 'Bad recipient address syntax'),
  parameterTwice: reply(501, '5.5.4', 'Parameter given twice'),
  badSize: reply(501, '5.5.4', 'Bad SIZE parameter'),
  badBody: reply(501, '5.5.4', 'BODY must be 7BIT or 8BITMIME'),
  badSmtputf8: reply(501, '5.5.4', 'SMTPUTF8 takes no value'),
  helloSyntax: reply(501, '5.5.4', 'Syntax: EHLO hostname'),
  verifySyntax: reply(501, '5.5.4', 'Syntax: VRFY address'),
  notImplemented: reply(502, '5.5.1', 'Command not implemented'),
  nestedMail: reply(503, '5.5.1', 'Sender already given'),
  needMail: reply(503, '5.5.1', 'Need MAIL first'),
  needRecipient: reply(503, '5.5.1', 'Need RCPT first'),
  needHello: reply(503, '5.5.1', 'Send HELO or EHLO first'),
  alreadyAuthenticated: reply(503, '5.5.1', 'Already authenticated'),
  authInTransaction: reply(503, '5.5.1', 'AUTH is not allowed during a mail transaction'),
  tlsActive: reply(503, '5.5.1', 'TLS is already active'),
  unknownMechanism: reply(504, '5.5.4', 'Unknown authentication mechanism: use PLAIN or LOGIN'),
  badCredentials: reply(
    535,
    '5.7.8',
    'Wrong credentials: the user name is an inbox id or address, the password its read token or an API key',
  ),
  authNeedsTls: reply(538, '5.7.11', 'Authentication needs an encrypted connection'),
  noSuchInbox: reply(550, '5.1.1', 'No such inbox here'),
  bareLineEnding: reply(550, '5.6.11', 'Bare CR or LF in the message'),
  malformedMessage: reply(550, '5.6.0', 'Message cannot be read'),
  messageTooLarge: reply(552, '5.3.4', 'Message too large'),
  needSmtputf8: reply(553, '5.6.7', 'Address needs SMTPUTF8'),
  unknownParameter: reply(555, '5.5.4', 'Parameter not recognized'),
} satisfies Record<string, Reply>;

const BY_ERROR: Partial<Record<ErrorCode, Reply>> = {
  unknown_recipient: REPLIES.noSuchInbox,
  inbox_full: REPLIES.inboxFull,
  message_too_large: REPLIES.messageTooLarge,
  malformed_message: REPLIES.malformedMessage,
  unavailable: REPLIES.tryLater,
  storage_damaged: REPLIES.tryLater,
  // The client's retry may store the message twice, but a lost message would be worse (RFC 5321 section 6.1).
  outcome_unknown: REPLIES.tryLater,
};

export const replyForError = (error: unknown): Reply | undefined =>
  error instanceof AppError ? BY_ERROR[error.code] : undefined;

/** The part after MAIL FROM: or RCPT TO:. `path` has no angle brackets and no source route. */
interface Argument {
  path: string;
  parameters: Map<string, string | null>;
}

/** A path in angle brackets, and the text after it. A quoted string in the path may contain `>`. */
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
  // U+FFFD: the decoder has replaced bytes that are not UTF-8.
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

/** Parses MAIL (RFC 5321 section 4.1.1.2). `mailFrom` is '' for the null path, `declaredBytes` 0 without SIZE. */
export function readMail(line: string, allowsAuth = false) {
  const text = /^MAIL +FROM: *(.*)$/is.exec(line)?.[1];
  const argument = readArgument(text, REPLIES.mailSyntax, REPLIES.badSender);
  if ('code' in argument) return argument;
  const { path: mailFrom, parameters } = argument;
  const smtputf8 = parameters.has('SMTPUTF8');
  const problem = parameterProblem(parameters, allowsAuth);
  if (problem) return problem;
  const badAddress = mailFrom === '' ? undefined : addressProblem(mailFrom, smtputf8, REPLIES.badSender);
  if (badAddress) return badAddress;
  const size = parameters.has('SIZE') ? parameters.get('SIZE') : '0';
  return /^\d{1,20}$/.test(size ?? '')
    ? { mailFrom, declaredBytes: Number(size), smtputf8 }
    : REPLIES.badSize;
}

/** Parses a RCPT command (RFC 5321 section 4.1.1.3). No offered extension defines parameters of RCPT. */
export function readRcpt(line: string, smtputf8: boolean): { rcptTo: string } | Reply {
  const text = /^RCPT +TO: *(.*)$/is.exec(line)?.[1];
  const argument = readArgument(text, REPLIES.recipientSyntax, REPLIES.badRecipient);
  if ('code' in argument) return argument;
  const { path: rcptTo, parameters } = argument;
  if (parameters.size > 0) return REPLIES.unknownParameter;
  if (rcptTo.toLowerCase() === 'postmaster') return { rcptTo };
  return addressProblem(rcptTo, smtputf8, REPLIES.badRecipient) ?? { rcptTo };
}

/** A label has at most 63 characters (RFC 1035 section 2.3.4). Underscores occur in names of containers. */
const LABEL = /^(?=.{1,63}$)[\p{L}\p{N}_](?:[\p{L}\p{N}\p{M}_-]*[\p{L}\p{N}\p{M}_])?$/u;
const LITERAL = /^\[(?:(IPv6):)?([^\]]*)\]$/i;

/** Checks a HELO name (RFC 5321 sections 4.1.1.1, 4.1.2 and 4.1.3). The tag `IPv6:` may be missing. */
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
export const MECHANISMS = [...CHALLENGES.keys()].join(' ');
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Runs AUTH (RFC 4954 section 4). @param ask sends a challenge; resolves with undefined if the exchange must end */
export async function readCredentials(line: string, ask: (challenge: Reply) => Promise<string | undefined>) {
  const [, mechanism = '', initial, ...more] = line.trimEnd().split(/ +/);
  if (mechanism === '' || more.length > 0) return REPLIES.authSyntax;
  const challenges = CHALLENGES.get(mechanism.toUpperCase());
  if (!challenges) return REPLIES.unknownMechanism;
  // "=" means an empty initial response.
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
