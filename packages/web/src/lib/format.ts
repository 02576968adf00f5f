import type { api } from '@mayfly/client';

const KIB = 1_024;

/** Mail providers, as they are called. */
export const PROVIDER_TITLES: Record<NonNullable<api.Envelope['via']>, string> = {
  ses: 'Amazon SES',
  sendgrid: 'SendGrid',
  resend: 'Resend',
  postmark: 'Postmark',
  mailgun: 'Mailgun',
  twilio: 'Twilio',
};

/** A size: `812 B`, `2.4 KB`, `13 MB`. */
export function bytes(count: number): string {
  if (count < KIB) return `${count} B`;
  const kib = count / KIB;
  if (kib < KIB) return `${kib < 10 ? kib.toFixed(1) : Math.round(kib)} KB`;
  const mib = kib / KIB;
  return `${mib < 10 ? mib.toFixed(1) : Math.round(mib)} MB`;
}

/** A number with separators. */
export const count = (value: number): string => value.toLocaleString('en');

/** A count with its noun: `1 message`, `2 messages`. */
export const plural = (value: number, noun: string): string =>
  `${count(value)} ${value === 1 ? noun : /x$/.test(noun) ? `${noun}es` : `${noun}s`}`;

/** They reverse the text after them: a name or an address would look like another one (Unicode TR 36, 2.2). */
const OVERRIDES = /[\u202d\u202e]/g;

/** A text of a mail as it really is: with marks in the place of characters that reverse it. */
export const showOverrides = (text: string): string =>
  text.replace(OVERRIDES, (one) => `[U+${one.charCodeAt(0).toString(16).toUpperCase()}]`);

/** A person of a mail: the display name, or the address. */
export const person = (from: { name: string; address: string } | null): string =>
  from ? showOverrides(from.name || from.address) : 'No sender';

/** Whom a mail was sent to: the envelope where it is not the inbox, else whom the header names first. */
export const recipient = ({ rcptTo, to }: Pick<api.MessageSummary, 'rcptTo' | 'to'>): string =>
  rcptTo?.join(', ') ?? to[0]?.address ?? '';

/** The host of a link, for people; '' where there is none. */
export const hostOf = (href: string): string => (URL.canParse(href) ? new URL(href).host : '');
