import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { dmarc } from 'mailauth/lib/dmarc/index.js';
import { spf } from 'mailauth/lib/spf/index.js';
import type { MailAuthentication } from '../../mail/mail.ts';
import { freeIfLarge } from '../../memory.ts';
import { type Ask, askForOneMail, createDns } from './dns-cache.ts';

/** Larger header sections are not checked: the time grows with the square of their size. */
const MAX_HEADER_BYTES = 64 * 1024;
const MAX_HEADER_LINES = 1_000;
/** Each signature may cost a pass over the body (RFC 6376 section 6.1). Ordinary mails have up to three. */
const MAX_SIGNATURES = 10;
/** Limit of each field that the libraries parse: a 4,096-bit signature with a long list of fields has less than 2 KiB. */
const MAX_FIELD_BYTES = 4 * 1024;
/** White space in a signature, which the library reads in quadratic time (60 KB took 1.4 s). Folding needs three. */
const TOO_MUCH_SPACE = /[ \t\r\n]{64}/;
const TAKEN_APART = /^(?:(dkim-signature)|from)[ \t]*:/i;
/** Bodies are hashed in pieces, so that a large one does not block other checks. */
const PIECE_BYTES = 64 * 1024;

/** The result for several signatures is the first of these that one of them has. */
const BEST_FIRST = ['pass', 'temperror', 'fail', 'policy', 'permerror', 'neutral', 'none'];

interface Signatures {
  result: string;
  /** Domains of valid signatures. `underSized`: bytes of the body that the signature does not cover (DKIM tag `l=`). */
  passed: { domain: string; underSized?: number }[];
  from: string[];
  fromFields: number;
}

export interface CheckedMail {
  mailFrom: string;
  helo: string;
  remoteAddress: string;
  /** The mail as its sender sent it, without our Received line; the thread frees a large one. */
  raw: Uint8Array;
}

/**
 * Checks a mail's sender strictly by SPF, DKIM and DMARC. Never rejects. `temperror` is a result that could not be
 * determined. DKIM and DMARC are also `permerror` for a mail beyond the bounds, and DMARC for one without a clear
 * author.
 * @param over aborted at the mail's time limit
 */
export async function authenticateMail(
  mail: CheckedMail,
  ask: Ask,
  over: AbortSignal,
): Promise<MailAuthentication> {
  const checking = checkHost(mail, ask);
  if (!isWithinBounds(mail.raw)) {
    return { spf: (await checking).result, dkim: 'permerror', dmarc: 'permerror' };
  }
  const [host, signatures] = await Promise.all([checking, checkSignatures(mail.raw, ask, over)]);
  return { spf: host.result, dkim: signatures.result, dmarc: await checkAuthor(host, signatures, ask) };
}

/** SPF (RFC 7208); the domain is that of the MAIL FROM, or of the HELO where that is empty. */
async function checkHost(mail: CheckedMail, ask: Ask): Promise<{ result: string; domain: string }> {
  const { mailFrom: sender, helo, remoteAddress: ip } = mail;
  try {
    // 'unknown' is the value of RFC 7208 section 7.3 for a receiver that does not disclose its name.
    const { status, domain } = await spf({ sender, helo, ip, mta: 'unknown', resolver: ask, strict: true });
    return { result: status.result, domain };
  } catch {
    return { result: 'temperror', domain: '' };
  }
}

async function checkSignatures(raw: Uint8Array, ask: Ask, over: AbortSignal): Promise<Signatures> {
  try {
    const input = Readable.from(pieces(raw, over));
    const { results, headerFrom, fromFields } = await dkimVerify(input, { resolver: ask, strict: true });
    const words = new Set<string>(results.map(({ status }) => status.result));
    const passed = results.flatMap(({ signingDomain, status: { result, underSized } }) =>
      result === 'pass' && signingDomain ? [{ domain: signingDomain, underSized: underSized ?? 0 }] : [],
    );
    const result = BEST_FIRST.find((word) => words.has(word)) ?? 'neutral';
    return { result, passed, from: headerFrom, fromFields };
  } catch {
    return { result: 'temperror', passed: [], from: [], fromFields: 0 };
  }
}

/** DMARC (RFC 9989). A mail that names no author, or several of different domains, is a `permerror`. */
async function checkAuthor(
  host: { result: string; domain: string },
  signatures: Signatures,
  ask: Ask,
): Promise<string> {
  const unsure = host.result === 'temperror' || signatures.result === 'temperror';
  try {
    const found = await dmarc({
      headerFrom: signatures.from,
      fromFields: signatures.fromFields,
      spfDomains: host.result === 'pass' ? [host.domain] : [],
      dkimDomains: signatures.passed,
      resolver: ask,
      strict: true,
    });
    const result = found ? found.status.result : 'permerror';
    // Without the temporary failure of SPF or DKIM, the mail might have passed, so a failure is not certain.
    return unsure && result !== 'pass' && result !== 'none' ? 'temperror' : result;
  } catch {
    return 'temperror';
  }
}

function isWithinBounds({ buffer, byteOffset, length }: Uint8Array): boolean {
  const beginning = Buffer.from(buffer, byteOffset, Math.min(length, MAX_HEADER_BYTES + 1)).toString(
    'latin1',
  );
  const [header = ''] = beginning.split(/(?:^|\n)\r?\n/, 1);
  if (header.length > MAX_HEADER_BYTES || header.split('\n').length > MAX_HEADER_LINES) return false;
  let signatures = 0;
  for (const field of header.split(/\r?\n(?![ \t])/)) {
    const [isTakenApart, isSignature] = TAKEN_APART.exec(field) ?? [];
    if (isTakenApart && field.length > MAX_FIELD_BYTES) return false;
    if (isSignature && (++signatures > MAX_SIGNATURES || TOO_MUCH_SPACE.test(field))) return false;
  }
  return true;
}

async function* pieces(raw: Uint8Array, over: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < raw.length; at += PIECE_BYTES) {
    if (at > 0) await nextTurn();
    if (over.aborted) throw new Error('the time of the mail is over');
    yield Buffer.from(raw.buffer, raw.byteOffset + at, Math.min(PIECE_BYTES, raw.length - at));
  }
}

export interface CheckerData {
  servers: readonly string[] | null;
}

/** A mail to check, or the id of a check that must return what is known so far. */
export type ToChecker = (CheckedMail & { id: number }) | { hurry: number };

/** `ready` when the thread listens; then one result for each mail. */
export type FromChecker = 'ready' | { id: number; found: MailAuthentication };

/** The entry of the thread that checks senders; see authenticator.ts. */
if (parentPort !== null) {
  const port = parentPort;
  const { servers }: CheckerData = workerData;
  const ask = createDns({ servers });
  const running = new Map<number, AbortController>();
  const say = (message: FromChecker): void => port.postMessage(message);

  port.on('message', (message: ToChecker) => {
    if ('hurry' in message) {
      running.get(message.hurry)?.abort();
      return;
    }
    const { id, ...mail } = message;
    const over = new AbortController();
    running.set(id, over);
    void authenticateMail(mail, askForOneMail(ask, over.signal), over.signal).then((found) => {
      running.delete(id);
      freeIfLarge(mail.raw);
      say({ id, found });
    });
  });
  say('ready');
}
