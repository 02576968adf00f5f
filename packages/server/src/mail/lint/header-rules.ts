import { isUtf8 } from 'node:buffer';
import type { MailContent, MailSummary } from '../mail.ts';
import { type FieldRange, fieldKey } from '../mime/header.ts';
import type { LintedMail, Rule } from './finding.ts';

/** Octets without the line break (RFC 5322 section 2.1.1). */
const MAX_LINE_OCTETS = 998;
const LF = 0x0a;
const CR = 0x0d;

/** Fields that a message has at most once (RFC 5322 section 3.6, RFC 2045 section 3). */
const ONCE = [
  ...['date', 'from', 'sender', 'reply-to', 'to', 'cc', 'bcc', 'message-id', 'in-reply-to', 'references'],
  ...['subject', 'mime-version', 'content-type', 'content-transfer-encoding'],
];

const keysOf = ({ source, parts }: LintedMail): string[] =>
  parts.header.fields.map((field) => fieldKey(source, field));

function fieldMissing(name: string, severity: Rule['severity'], section: string, advice: string): Rule {
  return {
    name: `missing-${name.toLowerCase()}`,
    severity,
    reference: `RFC 5322 section ${section}`,
    check: (mail) =>
      !keysOf(mail).includes(name.toLowerCase()) && {
        message: `The header has no ${name} field. ${advice}`,
        where: name,
      },
  };
}

const has8Bit = (source: Buffer, { nameStart, end }: FieldRange): boolean =>
  source.subarray(nameStart, end).some((byte) => byte >= 0x80);

export const HEADER_RULES: readonly Rule[] = [
  fieldMissing('Date', 'error', '3.6', 'Every message needs one.'),
  fieldMissing('From', 'error', '3.6', 'Every message needs one.'),
  fieldMissing(
    'Message-ID',
    'warning',
    '3.6.4',
    'Every message should have one, or servers on its way add their own.',
  ),
  {
    name: 'missing-subject',
    severity: 'warning',
    reference: 'RFC 5322 section 3.6.5',
    check: ({ mail: { summary } }) =>
      summary.subject.trim() === '' &&
      // An SMS has no subject.
      !summary.from?.address.endsWith('@sms.invalid') && {
        message: 'The subject is empty. Lists of mails show nothing else of it, and filters distrust it.',
        where: 'Subject',
      },
  },
  {
    name: 'unreadable-date',
    severity: 'error',
    reference: 'RFC 5322 section 3.3',
    check: (mail) =>
      mail.mail.content.date === null &&
      keysOf(mail).includes('date') && {
        message: 'The Date field cannot be read as a date. Write it as in "Sun, 22 Nov 2026 10:00:00 +0000".',
        where: 'Date',
      },
  },
  {
    name: 'duplicate-field',
    severity: 'error',
    reference: 'RFC 5322 section 3.6',
    check: (mail) => {
      const keys = keysOf(mail);
      return ONCE.filter((key) => keys.indexOf(key) !== keys.lastIndexOf(key)).map((key) => ({
        message: `The field "${key}" occurs more than once. Programs disagree on which one counts; send one.`,
        where: key,
      }));
    },
  },
  {
    name: '8-bit-header',
    severity: 'warning',
    reference: 'RFC 5322 section 2.2, RFC 2047',
    check: ({ source, parts, mail }) => {
      const fields = parts.header.fields.filter((field) => has8Bit(source, field));
      // An internationalised address cannot be encoded: the whole header is UTF-8 (RFC 6532 section 3).
      const isInternational = hasInternationalAddress(mail.summary) && fields.every(isUtf8Field(source));
      const keys = isInternational ? [] : fields.map((field) => fieldKey(source, field));
      return [...new Set(keys)].map((key) => ({
        message: `The field "${key}" has bytes beyond ASCII. Encode them (RFC 2047); only recipients with SMTPUTF8 read them as they are.`,
        where: key,
      }));
    },
  },
  {
    name: 'long-line',
    severity: 'error',
    reference: 'RFC 5322 section 2.1.1',
    check: ({ source }) => {
      const { count, first } = longLines(source);
      return (
        count > 0 && {
          message: `${count === 1 ? 'A line is' : `${count} lines are`} longer than ${MAX_LINE_OCTETS} octets. Servers may cut or break them; use quoted-printable or base64, and fold header fields.`,
          where: `line ${first}`,
          count,
        }
      );
    },
  },
  {
    name: 'missing-mime-version',
    severity: 'warning',
    reference: 'RFC 2045 section 4',
    check: (mail) => {
      const keys = keysOf(mail);
      return (
        keys.includes('content-type') &&
        !keys.includes('mime-version') && {
          message: 'The message has a Content-Type but no "MIME-Version: 1.0".',
          where: 'MIME-Version',
        }
      );
    },
  },
  {
    name: 'missing-list-unsubscribe',
    severity: 'warning',
    reference: 'RFC 2369 section 3.2',
    check: (mail) =>
      isBulk(mail) &&
      !keysOf(mail).includes('list-unsubscribe') && {
        message:
          'This is bulk mail without a List-Unsubscribe field. Large providers require one, and mark such mail as spam.',
        where: 'List-Unsubscribe',
      },
  },
  {
    name: 'no-one-click-unsubscribe',
    severity: 'warning',
    reference: 'RFC 8058 section 3.1',
    check: ({ mail: { content } }) => {
      const field = content.headers.find(({ name }) => name.toLowerCase() === 'list-unsubscribe');
      const post = content.headers.find(({ name }) => name.toLowerCase() === 'list-unsubscribe-post');
      // Discussion lists often have only a mail address, which is fine.
      if (!field || !/<\s*https:/i.test(field.value)) return false;
      return (
        !/list-unsubscribe\s*=\s*one-click/i.test(post?.value ?? '') && {
          message:
            'List-Unsubscribe has a link but one click does not unsubscribe. Add "List-Unsubscribe-Post: List-Unsubscribe=One-Click".',
          where: 'List-Unsubscribe-Post',
        }
      );
    },
  },
];

const isUtf8Field =
  (source: Buffer) =>
  ({ nameStart, end }: FieldRange): boolean =>
    isUtf8(source.subarray(nameStart, end));

const hasInternationalAddress = ({ from, to, cc }: MailSummary): boolean =>
  [...(from ? [from] : []), ...to, ...cc].some(({ address }) => /[^\p{ASCII}]/u.test(address));

/** Whether this is mail to subscribers, and not an automatic message (RFC 3834), a reply, or asked for. */
function isBulk({ mail: { content, summary } }: LintedMail): boolean {
  const value = (name: string) =>
    content.headers.find((field) => field.name.toLowerCase() === name)?.value.trim() ?? '';
  const isAutomatic = !/^(?:no\b.*)?$/i.test(value('auto-submitted'));
  if (/^(?:bulk|list)$/i.test(value('precedence')) && !isAutomatic) return true;
  const isQuoting = value('in-reply-to') !== '' || /^(?:re|fwd?|aw|wg|tr)\s*:/i.test(summary.subject);
  return (
    !isQuoting && !isAskedFor(content, summary) && content.links.some(({ kind }) => kind === 'unsubscribe')
  );
}

/** Whether the recipient requested the mail. A newsletter may contain a sign-in link too, but not as its first link. */
const isAskedFor = ({ links }: MailContent, { codes }: MailSummary): boolean =>
  codes.length > 0 ||
  links[0]?.kind === 'sign-in' ||
  links.some(({ kind }) => kind === 'verify' || kind === 'reset');

function longLines(source: Buffer): { count: number; first: number } {
  let count = 0;
  let first = 0;
  let start = 0;
  for (let line = 1; start < source.length; line++) {
    const lineFeed = source.indexOf(LF, start);
    const end = lineFeed < 0 ? source.length : lineFeed;
    const length = end - start - (source[end - 1] === CR ? 1 : 0);
    if (length > MAX_LINE_OCTETS) {
      first ||= line;
      count++;
    }
    start = end + 1;
  }
  return { count, first };
}
