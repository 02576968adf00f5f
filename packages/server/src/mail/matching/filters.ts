import type { MailAddress, MailLink, MailSummary } from '../mail.ts';
import { withoutInvisible } from '../mime/clean.ts';
import type { ComparedContent, LinkFilter } from './compared-content.ts';
import { contains, fold } from './fold.ts';

/**
 * Conditions on a message. Text may be anywhere; it is compared without regard to case, to the kind and number of
 * spaces, and to the kind of quotation marks and hyphens.
 */
export interface Filters {
  /** In the author's address or display name. */
  from?: string | undefined;
  /** In a recipient's address or display name: To, Cc, or the envelope. */
  to?: string | undefined;
  /** In a recipient of the envelope. */
  rcptTo?: string | undefined;
  subject?: string | undefined;
  /** In the visible text. */
  text?: string | undefined;
  hasAttachments?: boolean | undefined;
  /** Whether there is a one-time code. */
  code?: boolean | undefined;
  /** Whether there is a link; or what one and the same link must be. */
  link?: boolean | LinkFilter | undefined;
}

/** What of a message the conditions on its summary and envelope need. */
export interface FilteredSummary {
  summary: MailSummary;
  /** The RCPT addresses. */
  rcptTo: readonly string[];
}

/** A condition that a message did not meet, and what stood there instead; both as text. */
export interface FailedCondition {
  condition: keyof Filters;
  expected: string;
  got: string;
}

/** Letters of a value that an explanation quotes: enough to see the difference. */
const MAX_QUOTED = 500;

const shortText = (text: string): string =>
  text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;

/** The same with long values cut. */
export const shortened = ({ condition, expected, got }: FailedCondition): FailedCondition => ({
  condition,
  expected: shortText(expected),
  got: shortText(got),
});

/** True when the conditions need a message's content and not only its summary. */
export const needsContent = ({ text, link }: Filters): boolean => text !== undefined || link !== undefined;

/** Whether a subject contains a text; characters without a width do not count. */
const subjectContains = (text: string, part: string): boolean =>
  contains(withoutInvisible(text), withoutInvisible(part));

const mailbox = ({ name, address }: MailAddress): string => (name === '' ? address : `${name} <${address}>`);

/**
 * The conditions on the summary that a message fails; none when it matches. Those on the content are
 * {@link failedContent}'s.
 */
export function failedConditions(message: FilteredSummary, filters: Filters): FailedCondition[] {
  const { summary } = message;
  const failed: FailedCondition[] = [];
  const demand = (condition: keyof Filters, part: string | undefined, got: string) => {
    if (part !== undefined && !contains(got, part)) failed.push({ condition, expected: part, got });
  };
  demand('from', filters.from, summary.from ? mailbox(summary.from) : '');
  demand('to', filters.to, [...[...summary.to, ...summary.cc].map(mailbox), ...message.rcptTo].join(', '));
  demand('rcptTo', filters.rcptTo, message.rcptTo.join(', '));
  const { subject } = filters;
  if (subject !== undefined && !subjectContains(summary.subject, subject)) {
    failed.push({ condition: 'subject', expected: subject, got: summary.subject });
  }
  const hasAttachments = summary.attachmentCount > 0;
  if (filters.hasAttachments === !hasAttachments) {
    const expected = String(filters.hasAttachments);
    failed.push({ condition: 'hasAttachments', expected, got: String(hasAttachments) });
  }
  const codes = summary.codes.map(({ value }) => value);
  if (filters.code === (codes.length === 0)) {
    const expected = filters.code ? 'a code' : 'no code';
    failed.push({ condition: 'code', expected, got: codes.join(', ') || 'no code' });
  }
  return failed;
}

const oneLink = ({ kind, text, href }: MailLink): string =>
  `${kind} ${href}${text === '' ? '' : ` (${text})`}`;

/** A condition on links, as a person would say it. */
function wantedLink(wanted: boolean | LinkFilter): string {
  if (typeof wanted === 'boolean') return wanted ? 'a link' : 'no link';
  const { kind, href, text } = wanted;
  const parts = [
    ...(kind === undefined ? [] : [`of kind ${kind}`]),
    ...(href === undefined ? [] : [`with "${href}" in its address`]),
    ...(text === undefined ? [] : [`with "${text}" in its words`]),
  ];
  return ['a link', parts.join(', ')].join(' ').trim();
}

/** The links of a message as an explanation quotes them; those beyond what it shows are left out. */
function quotedLinks(links: readonly MailLink[]): string {
  let quoted = '';
  for (const link of links) {
    quoted += `${quoted === '' ? '' : ', '}${oneLink(link)}`;
    if (quoted.length > MAX_QUOTED) break;
  }
  return quoted || 'no link';
}

/** The conditions on text and links that a message fails; `got` of the text is the message's preview. */
export function failedContent(
  { preview }: Pick<MailSummary, 'preview'>,
  content: ComparedContent,
  { text, link }: Pick<Filters, 'text' | 'link'>,
): FailedCondition[] {
  const failed: FailedCondition[] = [];
  if (text !== undefined && !content.hasText(text)) {
    failed.push({ condition: 'text', expected: text, got: preview });
  }
  if (link === undefined) return failed;
  const isMet = typeof link === 'boolean' ? content.links.length > 0 === link : content.hasLink(link);
  if (!isMet) {
    failed.push({ condition: 'link', expected: wantedLink(link), got: quotedLinks(content.links) });
  }
  return failed;
}

/** The words of a search, folded, each once. */
export const searchWords = (query: string): string[] => [
  ...new Set(
    fold(query)
      .split(/\s+/)
      .filter((word) => word !== ''),
  ),
];

/**
 * The words that are neither in the subject, nor in an address or display name of From, To and Cc, nor in
 * a RCPT address.
 * @param words as {@link searchWords} returns them
 */
export function missingWords({ summary, rcptTo }: FilteredSummary, words: readonly string[]): string[] {
  if (words.length === 0) return [];
  const { subject, from, to, cc } = summary;
  // A word has no white space, so it is never found across two of the fields.
  const all = fold([subject, ...[...(from ? [from] : []), ...to, ...cc].map(mailbox), ...rcptTo].join('\n'));
  return words.filter((word) => !all.includes(word));
}
