import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { dmarc } from 'mailauth/lib/dmarc/index.js';
import { spf } from 'mailauth/lib/spf/index.js';
import type { MailAuthentication } from '../../mail/mail.ts';
import { asBuffer, freeIfLarge } from '../../memory.ts';
import { type Ask, askForOneMail, createDns } from './dns-cache.ts';

/** For a larger header, DKIM and DMARC are `permerror`, because the time grows with the square of its size. */
const MAX_HEADER_BYTES = 64 * 1024;
const MAX_HEADER_LINES = 1_000;
/** Each signature may require a pass over the body (RFC 6376 section 6.1). Ordinary mail has up to three. */
const MAX_SIGNATURES = 10;
/** Limit of each field that the libraries parse. A 4,096-bit signature has less than 2 KiB. */
const MAX_FIELD_BYTES = 4 * 1024;
/** So much white space in a signature makes DKIM and DMARC `permerror`: parsing would take quadratic time. */
const TOO_MUCH_SPACE = /[ \t\r\n]{64}/;
const TAKEN_APART = /^(?:(dkim-signature)|from)[ \t]*:/i;
/** A body is hashed in pieces, so that a large body does not block other checks. */
const PIECE_BYTES = 64 * 1024;

/** If the signatures of a mail have different results, the one that comes first in this list counts. */
const BEST_FIRST = ['pass', 'temperror', 'fail', 'policy', 'permerror', 'neutral', 'none'];

type Host = Awaited<ReturnType<typeof checkHost>>;

interface Signatures {
  result: string;
  /** Domains of valid signatures. `underSized`: bytes of the body that are not signed (DKIM tag `l=`). */
  passed: { domain: string; underSized?: number }[];
  from: string[];
  fromFields: number;
}

export interface CheckedMail {
  mailFrom: string;
  helo: string;
  remoteAddress: string;
  /** The mail, with or without this server's Received line. A large buffer is freed after the check. */
  raw: Uint8Array;
}

/**
 * Checks the sender by SPF, DKIM and DMARC. Never rejects. `temperror` is also returned for a missing result,
 * and `permerror` for a mail that exceeds a limit or (only for DMARC) has no clear author.
 * @param over aborted at the time limit of the mail
 */
export async function authenticateMail(mail: CheckedMail, ask: Ask, over: AbortSignal) {
  const checking = checkHost(mail, ask);
  if (!isWithinBounds(mail.raw)) {
    return { spf: (await checking).result, dkim: 'permerror', dmarc: 'permerror' };
  }
  const [host, signatures] = await Promise.all([checking, checkSignatures(mail.raw, ask, over)]);
  return { spf: host.result, dkim: signatures.result, dmarc: await checkAuthor(host, signatures, ask) };
}

/** SPF (RFC 7208) for the domain of MAIL FROM, or for the HELO name if MAIL FROM is empty. */
async function checkHost(mail: CheckedMail, ask: Ask) {
  const { mailFrom: sender, helo, remoteAddress: ip } = mail;
  try {
    // 'unknown' is for receivers that do not disclose their name (RFC 7208 section 7.3).
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

/** DMARC (RFC 9989). The result is `permerror` without an author, or with authors of different domains. */
async function checkAuthor(host: Host, signatures: Signatures, ask: Ask): Promise<string> {
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
    // A temporary failure of SPF or DKIM may be the only reason why DMARC did not pass.
    return unsure && result !== 'pass' && result !== 'none' ? 'temperror' : result;
  } catch {
    return 'temperror';
  }
}

function isWithinBounds(raw: Uint8Array): boolean {
  const beginning = asBuffer(raw).toString('latin1', 0, MAX_HEADER_BYTES + 1);
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
    yield asBuffer(raw.subarray(at, at + PIECE_BYTES));
  }
}

export interface CheckerData {
  servers: readonly string[] | null;
}

/** A mail to check, or the id of a running check whose partial result is needed now. */
export type ToChecker = (CheckedMail & { id: number }) | { hurry: number };

export type FromChecker = 'ready' | { id: number; found: MailAuthentication };

if (parentPort !== null) {
  const port = parentPort;
  const { servers }: CheckerData = workerData;
  const ask = createDns(servers);
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
