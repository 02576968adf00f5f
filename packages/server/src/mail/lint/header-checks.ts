import { isUtf8 } from 'node:buffer';
import type { MailContent, MailSummary } from '../mail.ts';
import type { FieldRange } from '../mime/header.ts';
import type { Case, LintedMail } from './finding.ts';

export const MAX_LINE_OCTETS = 998;
const LF = 0x0a;
const CR = 0x0d;

/** Fields that a message may have at most once (RFC 5322 section 3.6, RFC 2045 section 3). */
const ONCE = [
  ...['date', 'from', 'sender', 'reply-to', 'to', 'cc', 'bcc', 'message-id', 'in-reply-to', 'references'],
  ...['subject', 'mime-version', 'content-type', 'content-transfer-encoding'],
];

const keysOf = ({ parts }: LintedMail): string[] => parts.header.fields.map(({ key }) => key);

export const missing =
  (name: string) =>
  (mail: LintedMail): string[] =>
    keysOf(mail).includes(name.toLowerCase()) ? [] : [name];

export const emptySubject = ({ mail: { summary } }: LintedMail): string[] =>
  // An SMS has no subject.
  summary.subject.trim() !== '' || summary.from?.address.endsWith('@sms.invalid') ? [] : ['Subject'];

export const unreadableDate = (mail: LintedMail): string[] =>
  mail.mail.content.date === null && keysOf(mail).includes('date') ? ['Date'] : [];

export function duplicateFields(mail: LintedMail): Case[] {
  const keys = keysOf(mail);
  return ONCE.filter((key) => keys.indexOf(key) !== keys.lastIndexOf(key)).map((key) => ({
    message: `The field "${key}" occurs more than once. Programs disagree on which one counts; send one.`,
    where: key,
  }));
}

export function fieldsOf8Bit({ source, parts, mail }: LintedMail): Case[] {
  const bytesOf = ({ valueStart, end }: FieldRange) => source.subarray(valueStart, end);
  const fields = parts.header.fields.filter((field) => bytesOf(field).some((byte) => byte >= 0x80));
  // Internationalised addresses cannot be encoded, so the whole header is UTF-8 (RFC 6532 section 3).
  if (hasInternationalAddress(mail.summary) && fields.every((field) => isUtf8(bytesOf(field)))) return [];
  return [...new Set(fields.map(({ key }) => key))].map((key) => ({
    message: `The field "${key}" has bytes beyond ASCII. Encode them (RFC 2047); only recipients with SMTPUTF8 read them as they are.`,
    where: key,
  }));
}

const hasInternationalAddress = ({ from, to, cc }: MailSummary): boolean =>
  [...(from ? [from] : []), ...to, ...cc].some(({ address }) => /[^\p{ASCII}]/u.test(address));

export function longLines({ source }: LintedMail): string[] {
  const places: string[] = [];
  let start = 0;
  for (let line = 1; start < source.length; line++) {
    const lineFeed = source.indexOf(LF, start);
    const end = lineFeed < 0 ? source.length : lineFeed;
    const length = end - start - (source[end - 1] === CR ? 1 : 0);
    if (length > MAX_LINE_OCTETS) places.push(`line ${line}`);
    start = end + 1;
  }
  return places;
}

export const missingMimeVersion = (mail: LintedMail): string[] =>
  keysOf(mail).includes('content-type') ? missing('MIME-Version')(mail) : [];

export const missingListUnsubscribe = (mail: LintedMail): string[] =>
  isBulk(mail) ? missing('List-Unsubscribe')(mail) : [];

export function noOneClickUnsubscribe({ mail: { content } }: LintedMail): string[] {
  // RFC 8058 applies only to https URLs. Discussion lists often give only a mail address.
  const isOffered =
    !/<\s*https:/i.test(fieldOf(content, 'list-unsubscribe')) ||
    /list-unsubscribe\s*=\s*one-click/i.test(fieldOf(content, 'list-unsubscribe-post'));
  return isOffered ? [] : ['List-Unsubscribe-Post'];
}

const fieldOf = ({ headers }: MailContent, key: string): string =>
  headers.find(({ name }) => name.toLowerCase() === key)?.value.trim() ?? '';

/** Whether subscribers get the mail. Ignores `bulk` in automatic replies and unsubscribe links in replies. */
function isBulk({ mail: { content, summary } }: LintedMail): boolean {
  const isAutomatic = !/^(?:no\b.*)?$/i.test(fieldOf(content, 'auto-submitted'));
  if (/^(?:bulk|list)$/i.test(fieldOf(content, 'precedence')) && !isAutomatic) return true;
  const isQuoting =
    fieldOf(content, 'in-reply-to') !== '' || /^(?:re|fwd?|aw|wg|tr)\s*:/i.test(summary.subject);
  return (
    !isQuoting && !isAskedFor(content, summary) && content.links.some(({ kind }) => kind === 'unsubscribe')
  );
}

/** Whether the recipient requested the mail. Newsletters have sign-in links too, but not as first link. */
const isAskedFor = ({ links }: MailContent, { codes }: MailSummary): boolean =>
  codes.length > 0 ||
  links[0]?.kind === 'sign-in' ||
  links.some(({ kind }) => kind === 'verify' || kind === 'reset');
