import type { SmtpCredentials } from '../inbound/smtp-credentials.ts';
import { REPLIES, type Reply } from './replies.ts';

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
