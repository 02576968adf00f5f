import type { MailAddress, MailLink, MailSummary } from '../mail.ts';
import { withoutInvisible } from '../mime/clean.ts';
import { type ComparedContent, fold, type LinkFilter } from './compared-content.ts';

/** All given conditions must hold. Text is a substring, compared after {@link fold}. */
export interface Filters {
  from?: string | undefined;
  to?: string | undefined;
  rcptTo?: string | undefined;
  subject?: string | undefined;
  text?: string | undefined;
  hasAttachments?: boolean | undefined;
  code?: boolean | undefined;
  link?: boolean | LinkFilter | undefined;
}

export interface FilteredSummary {
  summary: MailSummary;
  rcptTo: readonly string[];
}

export interface FailedCondition {
  condition: keyof Filters;
  expected: string;
  got: string;
}

const MAX_QUOTED = 500;

const shortText = (text: string): string =>
  text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;

export const shortened = ({ condition, expected, got }: FailedCondition): FailedCondition => ({
  condition,
  expected: shortText(expected),
  got: shortText(got),
});

export const needsContent = ({ text, link }: Filters): boolean => text !== undefined || link !== undefined;

const mailbox = ({ name, address }: MailAddress): string => (name === '' ? address : `${name} <${address}>`);

/** Fields that are compared without the content of a message; `any` is all of them. */
export type HeadField = 'any' | 'from' | 'to' | 'cc' | 'rcptTo' | 'subject';

export function textsOf(field: HeadField, { summary, rcptTo }: FilteredSummary): string[] {
  const { subject, from, to, cc } = summary;
  switch (field) {
    case 'from':
      return from ? [mailbox(from)] : [];
    case 'to':
      return [...[...to, ...cc].map(mailbox), ...rcptTo];
    case 'cc':
      return cc.map(mailbox);
    case 'rcptTo':
      return [...rcptTo];
    case 'subject':
      return [subject];
    case 'any':
      return [subject, ...[...(from ? [from] : []), ...to, ...cc].map(mailbox), ...rcptTo];
  }
}

export const foldText = (text: string): string => fold(withoutInvisible(text));

/** The conditions on the summary that a message fails; {@link failedContent} has the others. */
export function failedConditions(message: FilteredSummary, filters: Filters): FailedCondition[] {
  const { summary } = message;
  const failed: FailedCondition[] = [];
  for (const condition of ['from', 'to', 'rcptTo', 'subject'] as const) {
    const expected = filters[condition];
    if (expected === undefined) continue;
    const texts = textsOf(condition, message);
    const part = foldText(expected);
    if (!texts.some((text) => foldText(text).includes(part)))
      failed.push({ condition, expected, got: texts.join(', ') });
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

function quotedLinks(links: readonly MailLink[]): string {
  let quoted = '';
  for (const link of links) {
    quoted += `${quoted === '' ? '' : ', '}${oneLink(link)}`;
    if (quoted.length > MAX_QUOTED) break;
  }
  return quoted || 'no link';
}

/** `got` of a text condition is the message's preview. */
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
