import type { SmtpCredentials } from '../inbound/smtp-credentials.ts';
import { REPLIES, type Reply } from './replies.ts';

/*
 * The AUTH command's exchange (RFC 4954 section 4) for PLAIN (RFC 4616) and LOGIN, as functions of the
 * lines that the client sends.
 */

/** Mechanisms as EHLO lists them. */
export const MECHANISMS = ['PLAIN', 'LOGIN'] as const;

/** RFC 4954 section 4: the longest line of an exchange, in octets. */
export const MAX_AUTH_LINE_BYTES = 12_288;

/** What the client's next line is. */
export type AuthExchange = { mechanism: 'PLAIN' } | { mechanism: 'LOGIN'; username: string | null };

/** What a line of the client leads to: one more line, a rejection, or credentials to check. */
export type AuthStep =
  | { challenge: Reply; exchange: AuthExchange }
  | { rejected: Reply }
  | { credentials: SmtpCredentials };

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A server challenge; the text of LOGIN's is base64 for `Username:` and `Password:`. */
const challenge = (text: string): Reply => ({ code: 334, enhanced: '', text });
const ASK_PLAIN = challenge('');
const ASK_USERNAME = challenge('VXNlcm5hbWU6');
const ASK_PASSWORD = challenge('UGFzc3dvcmQ6');

function decode(base64: string): string | undefined {
  return BASE64.test(base64) ? Buffer.from(base64, 'base64').toString() : undefined;
}

/** RFC 4616 section 2: [authzid] NUL authcid NUL passwd. */
function readPlain(message: string): AuthStep {
  const [authorizeAs, username, password, ...more] = message.split('\0');
  if (authorizeAs === undefined || !username || !password || more.length > 0) {
    return { rejected: REPLIES.badPlainResponse };
  }
  return { credentials: { authorizeAs, username, password } };
}

function respond(exchange: AuthExchange, response: string): AuthStep {
  if (exchange.mechanism === 'PLAIN') return readPlain(response);
  const { username } = exchange;
  if (username !== null) return { credentials: { authorizeAs: '', username, password: response } };
  return { challenge: ASK_PASSWORD, exchange: { mechanism: 'LOGIN', username: response } };
}

/** @param line the whole AUTH command, without its line end */
export function beginAuth(line: string): AuthStep {
  const [, mechanism = '', initial, ...more] = line.trimEnd().split(/ +/);
  if (mechanism === '' || more.length > 0) return { rejected: REPLIES.authSyntax };
  if (line.length > MAX_AUTH_LINE_BYTES) return { rejected: REPLIES.authLineTooLong };
  const name = MECHANISMS.find((one) => one === mechanism.toUpperCase());
  if (!name) return { rejected: REPLIES.unknownMechanism };
  const exchange: AuthExchange = name === 'PLAIN' ? { mechanism: name } : { mechanism: name, username: null };
  if (initial === undefined) return { challenge: name === 'PLAIN' ? ASK_PLAIN : ASK_USERNAME, exchange };
  // A "=" stands for an empty initial response.
  const response = initial === '=' ? '' : decode(initial);
  return response === undefined ? { rejected: REPLIES.badBase64 } : respond(exchange, response);
}

/** @param line the client's answer to a challenge, without its line end */
export function continueAuth(exchange: AuthExchange, line: string): AuthStep {
  if (line.length > MAX_AUTH_LINE_BYTES) return { rejected: REPLIES.authLineTooLong };
  const text = line.trimEnd();
  if (text === '*') return { rejected: REPLIES.authCancelled };
  const response = decode(text);
  return response === undefined ? { rejected: REPLIES.badBase64 } : respond(exchange, response);
}
