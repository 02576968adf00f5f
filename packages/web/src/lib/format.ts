import type { api } from '@mayfly/client';

const KIB = 1_024;

/** Display names of providers. */
export const PROVIDER_TITLES: Record<NonNullable<api.Envelope['via']>, string> = {
  ses: 'Amazon SES',
  sendgrid: 'SendGrid',
  resend: 'Resend',
  postmark: 'Postmark',
  mailgun: 'Mailgun',
  twilio: 'Twilio',
};

/** Formats a size: `812 B`, `2.4 KB`, `13 MB`. */
export function bytes(count: number): string {
  if (count < KIB) return `${count} B`;
  const kib = count / KIB;
  if (kib < KIB) return `${kib < 10 ? kib.toFixed(1) : Math.round(kib)} KB`;
  const mib = kib / KIB;
  return `${mib < 10 ? mib.toFixed(1) : Math.round(mib)} MB`;
}

/** Formats a number with separators. */
export const count = (value: number): string => value.toLocaleString('en');

/** A count with its noun: `1 message`, `2 messages`. */
export const plural = (value: number, noun: string): string =>
  `${count(value)} ${value === 1 ? noun : /x$/.test(noun) ? `${noun}es` : `${noun}s`}`;

/** Direction overrides, which reverse the text after them and so disguise a name or address (Unicode TR 36, 2.2). */
const OVERRIDES = /[\u202d\u202e]/g;

/** Makes direction overrides in a text of a mail visible. */
export const showOverrides = (text: string): string =>
  text.replace(OVERRIDES, (one) => `[U+${one.charCodeAt(0).toString(16).toUpperCase()}]`);

/** The display name of a person, or the address. */
export const person = (from: { name: string; address: string } | null): string =>
  from ? showOverrides(from.name || from.address) : 'No sender';

/** The recipient of a mail: the envelope address if it differs from the inbox, else the first address of the header. */
export const recipient = ({ rcptTo, to }: Pick<api.MessageSummary, 'rcptTo' | 'to'>): string =>
  rcptTo?.join(', ') ?? to[0]?.address ?? '';

/** The host of a link; '' if the URL is invalid. */
export const hostOf = (href: string): string => (URL.canParse(href) ? new URL(href).host : '');
