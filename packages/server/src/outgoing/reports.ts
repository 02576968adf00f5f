import type { OutcomeState } from '@mayfly/client/contract';
import { headersAt } from '../mail/fields.ts';
import { formatDate } from '../mail/mime/date.ts';
import { failed } from './relay.ts';

const MAX_HEADER_BYTES = 64 * 1024;

export interface ReportFacts {
  outcome: OutcomeState['outcome'];
  id: string;
  hostname: string;
  mailFrom: string;
  rcptTo: string;
  at: number;
  arrivedAt: number;
  source: Uint8Array;
}

/** The SMTP reply that each outcome stands for (RFC 3463, RFC 3464). */
const STATUS = {
  bounce: { action: 'failed', code: '5.1.1', diagnostic: '550 5.1.1 The mailbox does not exist' },
  'soft-bounce': { action: 'failed', code: '4.2.2', diagnostic: '452 4.2.2 The mailbox is full' },
  delay: { action: 'delayed', code: '4.4.1', diagnostic: '451 4.4.1 No answer from host' },
} as const;

const safe = (text: string): string => text.replaceAll(/[\p{Cc}<>]/gu, '');

function headerOf(source: Uint8Array): string {
  const text = Buffer.from(source.subarray(0, MAX_HEADER_BYTES)).toString('latin1');
  const end = text.search(/\r?\n\r?\n/);
  return `${(end < 0 ? text : text.slice(0, end)).replaceAll(/\r?\n/g, '\r\n')}\r\n`;
}

/** A delivery status notification (RFC 3464) or, for a complaint, a feedback report (RFC 5965). */
export function reportMail(facts: ReportFacts): Uint8Array {
  const { outcome, id, hostname, mailFrom, at } = facts;
  const boundary = `report-${id}`;
  const isComplaint = outcome === 'complaint';
  const { subject, text, type, fields } = isComplaint ? complaint(facts) : status(facts);
  const returned = headerOf(facts.source);
  const lines = [
    `From: ${isComplaint ? 'Feedback Loop' : 'Mail Delivery System'} <mailer-daemon@${hostname}>`,
    `To: <${safe(mailFrom)}>`,
    `Subject: ${subject}`,
    `Date: ${formatDate(at)}`,
    `Message-ID: <${id}@${hostname}>`,
    ...(isComplaint ? [] : ['Auto-Submitted: auto-replied']),
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=${isComplaint ? 'feedback-report' : 'delivery-status'};`,
    ` boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=utf-8',
    'Content-Transfer-Encoding: 8bit',
    '',
    text,
    '',
    `--${boundary}`,
    `Content-Type: ${type}`,
    '',
    ...fields,
    '',
    `--${boundary}`,
    'Content-Type: text/rfc822-headers',
    '',
    returned,
    `--${boundary}--`,
    '',
  ];
  return Buffer.from(lines.join('\r\n'), 'latin1');
}

type Report = Record<'subject' | 'text' | 'type', string> & { fields: string[] };

function status({ outcome, hostname, rcptTo, arrivedAt }: ReportFacts): Report {
  const { action, code, diagnostic } = STATUS[outcome as keyof typeof STATUS];
  const isDelay = action === 'delayed';
  return {
    subject: isDelay ? 'Delayed Mail (still being retried)' : 'Undelivered Mail Returned to Sender',
    text: isDelay
      ? `Your message to <${safe(rcptTo)}> could not be delivered yet. It will be retried; you need not send it again.`
      : `Your message to <${safe(rcptTo)}> could not be delivered: ${diagnostic}.`,
    type: 'message/delivery-status',
    fields: [
      `Reporting-MTA: dns; ${hostname}`,
      `Arrival-Date: ${formatDate(arrivedAt)}`,
      '',
      `Final-Recipient: rfc822; ${safe(rcptTo)}`,
      `Action: ${action}`,
      `Status: ${code}`,
      `Diagnostic-Code: smtp; ${diagnostic}`,
    ],
  };
}

const complaint = ({ hostname, mailFrom, rcptTo, arrivedAt }: ReportFacts): Report => ({
  subject: 'Spam report',
  text: `<${safe(rcptTo)}> reported a message from <${safe(mailFrom)}> as spam.`,
  type: 'message/feedback-report',
  fields: [
    'Feedback-Type: abuse',
    'User-Agent: Mayfly/1',
    'Version: 1',
    `Original-Mail-From: <${safe(mailFrom)}>`,
    `Original-Rcpt-To: <${safe(rcptTo)}>`,
    `Arrival-Date: ${formatDate(arrivedAt)}`,
    `Reporting-MTA: dns; ${hostname}`,
  ],
});

/** Returns the URL for one-click unsubscribing (RFC 8058). @throws NotSent if the message has none */
export function unsubscribeUrl(source: Uint8Array): string {
  const headers = headersAt(Buffer.from(source.subarray(0, MAX_HEADER_BYTES)));
  const headerNamed = (name: string): string =>
    headers.find((header) => header.name.toLowerCase() === name)?.value ?? '';
  const list = headerNamed('list-unsubscribe');
  if (list === '') throw failed('The message has no header List-Unsubscribe.');
  const url = /<(https?:[^>\s]+)>/i.exec(list)?.[1];
  if (url === undefined) throw failed('The header List-Unsubscribe of the message has no https URL.');
  const isOneClick = /^\s*List-Unsubscribe=One-Click\s*$/i.test(headerNamed('list-unsubscribe-post'));
  if (isOneClick) return url;
  throw failed('The message has no header "List-Unsubscribe-Post: List-Unsubscribe=One-Click" (RFC 8058).');
}
