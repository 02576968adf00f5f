import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import { dmarc } from 'mailauth/lib/dmarc/index.js';
import { spf } from 'mailauth/lib/spf/index.js';
import type { MailAuthentication } from '../../mail/authentication.ts';
import type { Ask } from './dns-cache.ts';
import type { CheckJob } from './protocol.ts';

/** Header sections beyond these are nobody's, and the time of a check grows with their square. */
const MAX_HEADER_BYTES = 64 * 1024;
const MAX_HEADER_LINES = 1_000;
/** Each may cost a pass over the body; RFC 6376 section 6.1 lets a verifier set a limit. Honest mails have up to three. */
const MAX_SIGNATURES = 10;
/** A body is hashed in pieces, so that a large one does not hold up the others' answers. */
const PIECE_BYTES = 64 * 1024;

const CR = 13;
const LF = 10;

/** The word for several signatures: the first of these that one of them has. */
const BEST_FIRST = ['pass', 'temperror', 'fail', 'policy', 'permerror', 'neutral', 'none'];

interface Signatures {
  result: string;
  /** Domains of the signatures that pass; `underSized` bytes of the body may lie outside one. */
  passed: { domain: string; underSized?: number }[];
  /** Addresses of the From fields, and how many such fields there are. */
  from: string[];
  fromFields: number;
}

/** A mail as it is checked. */
export type CheckedMail = Omit<CheckJob, 'id'>;

/**
 * Checks a mail's sender by SPF, DKIM and DMARC, as strictly as their RFCs are written. Never rejects: what
 * could not be found out is `temperror`; what is out of all bounds, and so is not looked at, `permerror`.
 * @param over aborted when the mail's time is over
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
    // 'unknown' is what RFC 7208 section 7.3 lets a receiver say that does not tell its name to policies.
    const { status, domain } = await spf({ sender, helo, ip, mta: 'unknown', resolver: ask, strict: true });
    return { result: status.result, domain };
  } catch {
    return { result: 'temperror', domain: '' };
  }
}

/** DKIM (RFC 6376). */
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
    // What is not known now may be what would have passed.
    return unsure && result !== 'pass' && result !== 'none' ? 'temperror' : result;
  } catch {
    return 'temperror';
  }
}

/** True for a header section (RFC 5322 section 2.2) of honest size, with not too many signatures. */
function isWithinBounds(raw: Uint8Array): boolean {
  let lines = 0;
  let start = 0;
  while (start < raw.length) {
    if (start > MAX_HEADER_BYTES || ++lines > MAX_HEADER_LINES) return false;
    const end = raw.indexOf(LF, start);
    if (end < 0 || end === start || (end === start + 1 && raw[start] === CR)) break;
    start = end + 1;
  }
  if (start > MAX_HEADER_BYTES) return false;
  const header = Buffer.from(raw.buffer, raw.byteOffset, start).toString('latin1');
  return [...header.matchAll(/^dkim-signature\s*:/gim)].length <= MAX_SIGNATURES;
}

/** The mail piece by piece, with a turn of the event loop between. */
async function* pieces(raw: Uint8Array, over: AbortSignal): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < raw.length; at += PIECE_BYTES) {
    if (at > 0) await nextTurn();
    if (over.aborted) throw new Error('the time of the mail is over');
    yield Buffer.from(raw.buffer, raw.byteOffset + at, Math.min(PIECE_BYTES, raw.length - at));
  }
}
