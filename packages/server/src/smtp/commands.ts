import { parseAddress, SOURCE_ROUTE } from '../mail/address.ts';
import { REPLIES, type Reply } from './replies.ts';

export interface MailCommand {
  /** Without brackets and source route; '' is the null reverse-path. */
  mailFrom: string;
  /** The SIZE parameter, or 0. */
  declaredBytes: number;
  smtputf8: boolean;
}

export interface RcptCommand {
  /** Without brackets and source route; `postmaster` may stand alone (RFC 5321 section 4.1.1.3). */
  rcptTo: string;
}

/** RFC 1870 section 3. */
const SIZE_VALUE = /^\d{1,20}$/;
/** A decoder's mark for bytes that are no UTF-8. */
const REPLACEMENT = '\u{FFFD}';

/** The text up to the `>` that ends the path, which may not stand in a quoted string. */
function splitPath(text: string): { path: string; rest: string } | undefined {
  if (!text.startsWith('<')) return undefined;
  let quoted = false;
  for (let i = 1; i < text.length; i++) {
    const letter = text.charAt(i);
    if (quoted && letter === '\\') i++;
    else if (letter === '"') quoted = !quoted;
    else if (letter === '>' && !quoted) {
      return { path: text.slice(1, i).replace(SOURCE_ROUTE, ''), rest: text.slice(i + 1) };
    }
  }
  return undefined;
}

/** `KEYWORD` or `KEYWORD=value`, each once; undefined when the text after the path is something else. */
function readParameters(rest: string): Map<string, string | null> | Reply | undefined {
  const parameters = new Map<string, string | null>();
  if (rest.trim() === '') return parameters;
  if (!rest.startsWith(' ')) return undefined;
  for (const word of rest.trim().split(/ +/)) {
    const equals = word.indexOf('=');
    const keyword = (equals < 0 ? word : word.slice(0, equals)).toUpperCase();
    if (parameters.has(keyword)) return REPLIES.parameterTwice;
    parameters.set(keyword, equals < 0 ? null : word.slice(equals + 1));
  }
  return parameters;
}

/** What follows MAIL FROM: or RCPT TO:, or the reply that refuses it. */
function readArgument(
  argument: string | undefined,
  { syntax, bad }: { syntax: Reply; bad: Reply },
): { path: string; parameters: Map<string, string | null> } | Reply {
  if (argument === undefined) return syntax;
  const split = splitPath(argument);
  if (!split) return bad;
  const parameters = readParameters(split.rest) ?? bad;
  return parameters instanceof Map ? { path: split.path, parameters } : parameters;
}

const isAscii = (text: string) => /^[\0-\x7f]*$/.test(text);

/** The reply to an address that may not be here, or undefined for a good one. */
function addressProblem(path: string, smtputf8: boolean, bad: Reply): Reply | undefined {
  if (!smtputf8 && !isAscii(path)) return REPLIES.needSmtputf8;
  return path.includes(REPLACEMENT) || !parseAddress(path, { smtputf8 }) ? bad : undefined;
}

function sizeOf(value: string | null | undefined): number | Reply {
  if (value === undefined) return 0;
  return value === null || !SIZE_VALUE.test(value) ? REPLIES.badSize : Number(value);
}

const MAIL_PARAMETERS = new Set(['SIZE', 'BODY', 'SMTPUTF8']);

/** The reply that rejects the parameters of MAIL, but for the value of SIZE. */
function mailParameterProblem(
  parameters: Map<string, string | null>,
  allowsAuth: boolean,
): Reply | undefined {
  for (const keyword of parameters.keys()) {
    const isKnown = MAIL_PARAMETERS.has(keyword) || (allowsAuth && keyword === 'AUTH');
    if (!isKnown) return REPLIES.unknownParameter;
  }
  if (parameters.has('AUTH') && !parameters.get('AUTH')) return REPLIES.badAuthParameter;
  const body = parameters.get('BODY');
  if (body !== undefined && !/^(?:7BIT|8BITMIME)$/i.test(body ?? '')) return REPLIES.badBody;
  return typeof parameters.get('SMTPUTF8') === 'string' ? REPLIES.badSmtputf8 : undefined;
}

/**
 * Reads a MAIL command (RFC 5321 section 4.1.1.2) with the parameters of RFC 1870, 6152 and 6531, and the
 * AUTH parameter of RFC 4954 section 5, which is ignored.
 * @param line the whole command, less its line end
 * @param allowsAuth whether AUTH is offered on this connection, or was used
 * @returns what it asks for, or the reply that rejects it
 */
export function readMail(line: string, allowsAuth = false): MailCommand | Reply {
  const replies = { syntax: REPLIES.mailSyntax, bad: REPLIES.badSender };
  const argument = readArgument(/^MAIL +FROM: *(.*)$/is.exec(line)?.[1], replies);
  if ('code' in argument) return argument;
  const { path, parameters } = argument;
  const smtputf8 = parameters.has('SMTPUTF8');
  const problem = mailParameterProblem(parameters, allowsAuth);
  if (problem) return problem;
  const badAddress = path === '' ? undefined : addressProblem(path, smtputf8, REPLIES.badSender);
  if (badAddress) return badAddress;
  const declaredBytes = sizeOf(parameters.get('SIZE'));
  if (typeof declaredBytes !== 'number') return declaredBytes;
  return { mailFrom: path, declaredBytes, smtputf8 };
}

/**
 * Reads a RCPT command (RFC 5321 section 4.1.1.3); no extension with parameters to it is offered.
 * @param smtputf8 whether the MAIL command had SMTPUTF8
 */
export function readRcpt(line: string, smtputf8: boolean): RcptCommand | Reply {
  const replies = { syntax: REPLIES.recipientSyntax, bad: REPLIES.badRecipient };
  const argument = readArgument(/^RCPT +TO: *(.*)$/is.exec(line)?.[1], replies);
  if ('code' in argument) return argument;
  const { path: rcptTo, parameters } = argument;
  if (parameters.size > 0) return REPLIES.unknownParameter;
  if (rcptTo.toLowerCase() === 'postmaster') return { rcptTo };
  return addressProblem(rcptTo, smtputf8, REPLIES.badRecipient) ?? { rcptTo };
}
