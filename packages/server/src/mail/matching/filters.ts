import type { LinkKind, MailAddress, MailContent, MailLink, MailSummary } from '../mail.ts';

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

/** What the conditions on its content need. */
export interface FilteredContent {
  summary: MailSummary;
  content: Pick<MailContent, 'text' | 'htmlWords' | 'links'>;
}

/** Conditions on one link, all of which it must meet. */
export interface LinkFilter {
  kind?: LinkKind | undefined;
  /** In the target. */
  href?: string | undefined;
  /** In the visible words. */
  text?: string | undefined;
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

/** Characters without a width, which mail programs insert into words: soft hyphen, zero-width space and joiners. */
const INVISIBLE = /[\u00ad\u200b-\u200d\u2060\ufeff]/g;
/** White space that is not one space: no-break and other spaces, line breaks, and several in a row. */
const WHITE_SPACE = /[^\S ]\s*| \s+/g;

/**
 * Letters that differ only in case or in composition (é as one or two code points) become one; so do the kinds of
 * apostrophes, quotation marks and hyphens. Any white space becomes one space, because lines are wrapped anywhere.
 */
const fold = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .normalize('NFC')
    .replace(/[\u2018\u2019\u201a\u201b]/g, "'")
    .replace(/[\u201c-\u201f]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(WHITE_SPACE, ' ');

/** Whether a text contains another one, compared as {@link Filters} are. */
export const contains = (text: string, part: string): boolean => fold(text).includes(fold(part));

/** The same for subjects, in which characters without a width do not count. */
const subjectContains = (text: string, part: string): boolean =>
  contains(text.replace(INVISIBLE, ''), part.replace(INVISIBLE, ''));

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

function meets(link: MailLink, { kind, href, text }: LinkFilter): boolean {
  return (
    (kind === undefined || kind === link.kind) &&
    (href === undefined || contains(link.href, href)) &&
    (text === undefined || contains(link.text, text))
  );
}

function failedLink(links: MailLink[], wanted: boolean | LinkFilter): FailedCondition[] {
  const matched =
    typeof wanted === 'boolean' ? links.length > 0 === wanted : links.some((link) => meets(link, wanted));
  if (matched) return [];
  return [
    { condition: 'link', expected: wantedLink(wanted), got: links.map(oneLink).join(', ') || 'no link' },
  ];
}

const visibleText = ({ text, htmlWords }: Pick<MailContent, 'text' | 'htmlWords'>): string =>
  text ?? htmlWords ?? '';

/** The same for the conditions on text and links; `got` of the text is the message's preview. */
export function failedContent({ summary, content }: FilteredContent, filters: Filters): FailedCondition[] {
  const { text, link } = filters;
  const failed: FailedCondition[] = [];
  if (text !== undefined && !contains(visibleText(content), text)) {
    failed.push({ condition: 'text', expected: text, got: summary.preview });
  }
  return link === undefined ? failed : [...failed, ...failedLink(content.links, link)];
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

/** True when all words are in the visible text. */
export function hasWords(content: FilteredContent['content'], words: readonly string[]): boolean {
  const text = fold(visibleText(content));
  return words.every((word) => text.includes(word));
}
