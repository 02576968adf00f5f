import type { MailAddress, Reply } from '@mayfly/client/contract';
import { formatDate } from '../mail/mime/date.ts';
import type { FullMessageRecord } from '../messages/records.ts';

const MAX_QUOTED = 64 * 1024;
/** The References header keeps this many ids, the newest ones. A thread may have hundreds of mails. */
const MAX_REFERENCES = 20;
const MAX_RECIPIENTS = 50;

type Style = NonNullable<Reply['style']>;

/** Prefixes of replies and forwards. Without them, all mails of a thread have the same subject. */
const PREFIX = /^\s*(?:re|aw|sv|vs|antw|r|res|rif|odp|fwd?|wg|tr|enc)(?:\[\d+\])?\s*:\s*/i;

export function plainSubject(subject: string): string {
  let rest = subject;
  while (PREFIX.test(rest)) rest = rest.replace(PREFIX, '');
  return rest.trim();
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const mailbox = ({ name, address }: MailAddress): string => (name ? `${name} <${address}>` : address);

/** Composes a reply as a mail program would. @param own the address that replies */
export function writeReply(message: FullMessageRecord, reply: Reply, own: string) {
  const { summary, content, receivedAt } = message;
  const others = (all: readonly MailAddress[], known: readonly MailAddress[]): MailAddress[] =>
    all.filter(({ address }) => address !== own && !known.some((one) => one.address === address));
  const from = summary.from ?? { name: '', address: message.envelope.mailFrom };
  const to = content.replyTo.length > 0 ? content.replyTo : [from].filter(({ address }) => address !== '');
  const moreTo = reply.all ? others(summary.to, to) : [];
  const cc = reply.all ? others(summary.cc, [...to, ...moreTo]) : [];
  const quoted = {
    ...{ from, to: summary.to, subject: summary.subject },
    at: content.date === null ? receivedAt : Date.parse(content.date),
    text: (content.text ?? content.htmlText ?? '').slice(0, MAX_QUOTED),
  };
  const html = content.html?.slice(0, MAX_QUOTED);
  const style = QUOTE[reply.style ?? 'gmail'];
  const id = content.rfcMessageId ?? undefined;
  const answer = reply.html ?? `<div dir="auto">${escaped(reply.text).replaceAll(/\r?\n/g, '<br>')}</div>`;
  const inner = html ?? escaped(quoted.text).replaceAll(/\r?\n/g, '<br>');
  return {
    subject: `Re: ${plainSubject(summary.subject)}`,
    text: `${reply.text}\r\n\r\n${style.text(quoted)}`,
    html: (reply.html ?? html) === undefined ? undefined : `${answer}${style.html(quoted, inner)}`,
    to: [...to, ...moreTo].slice(0, MAX_RECIPIENTS),
    cc: cc.slice(0, MAX_RECIPIENTS),
    inReplyTo: id === undefined ? undefined : bracketed(id),
    references: [...content.references, ...(id === undefined ? [] : [id])]
      .slice(-MAX_REFERENCES)
      .map(bracketed),
  };
}

const bracketed = (id: string): string => (id.startsWith('<') ? id : `<${id}>`);

interface Quoted {
  from: MailAddress;
  to: readonly MailAddress[];
  subject: string;
  at: number;
  text: string;
}

const arrows = (text: string): string =>
  text
    .trimEnd()
    .split(/\r?\n/)
    .map((line) => (line.startsWith('>') ? `>${line}` : `> ${line}`))
    .join('\r\n');

const inEnglish = (at: number, options: Intl.DateTimeFormatOptions): string =>
  new Intl.DateTimeFormat('en-US', { timeZone: 'UTC', ...options }).format(at);
const LONG = { weekday: 'short', year: 'numeric', month: 'short', day: 'numeric' } as const;
const TIME = { hour: 'numeric', minute: '2-digit' } as const;

const gmailLead = ({ from, at }: Quoted): string =>
  `On ${inEnglish(at, LONG)} at ${inEnglish(at, TIME)} ${mailbox(from)} wrote:`;
const appleLead = ({ from, at }: Quoted): string =>
  `On ${inEnglish(at, { year: 'numeric', month: 'short', day: 'numeric' })}, at ${inEnglish(at, TIME)}, ${mailbox(from)} wrote:`;
const outlookFields = ({ from, to, subject, at }: Quoted): [string, string][] => [
  ['From', mailbox(from)],
  ['Sent', formatDate(at)],
  ['To', to.map(mailbox).join('; ')],
  ['Subject', subject],
];

const QUOTE: Record<Style, { text(quoted: Quoted): string; html(quoted: Quoted, inner: string): string }> = {
  gmail: {
    text: (quoted) => `${gmailLead(quoted)}\r\n\r\n${arrows(quoted.text)}\r\n`,
    html: (quoted, inner) =>
      `<br><div class="gmail_quote"><div dir="ltr" class="gmail_attr">${escaped(gmailLead(quoted))}<br></div><blockquote class="gmail_quote" style="margin:0 0 0 .8ex;border-left:1px #ccc solid;padding-left:1ex">${inner}</blockquote></div>`,
  },
  apple: {
    text: (quoted) => `> ${appleLead(quoted)}\r\n> \r\n${arrows(quoted.text)}\r\n`,
    html: (quoted, inner) =>
      `<div><br><blockquote type="cite"><div>${escaped(appleLead(quoted))}</div><br class="Apple-interchange-newline"><div>${inner}</div></blockquote></div>`,
  },
  outlook: {
    text: (quoted) =>
      `________________________________\r\n${outlookFields(quoted)
        .map(([name, value]) => `${name}: ${value}`)
        .join('\r\n')}\r\n\r\n${quoted.text.trimEnd()}\r\n`,
    html: (quoted, inner) =>
      `<hr style="display:inline-block;width:98%"><div id="divRplyFwdMsg" dir="ltr">${outlookFields(quoted)
        .map(([name, value]) => `<b>${name}:</b> ${escaped(value)}<br>`)
        .join('')}</div>${inner}`,
  },
};
