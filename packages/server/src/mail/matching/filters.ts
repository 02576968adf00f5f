import type { MailAddress, MailLink } from '@mayfly/client/contract';
import type { MailSummary } from '../mail.ts';
import { withoutInvisible } from '../mime/clean.ts';
import { type ComparedContent, fold, type LinkFilter } from './compared-content.ts';

/** All conditions must hold. A field must contain the given text; {@link fold} is applied to both. */
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

export interface MessageHead {
  summary: MailSummary;
  rcptTo: readonly string[];
}

export interface FailedCondition {
  condition: keyof Filters;
  expected: string;
  got: string;
}

const MAX_QUOTED = 500;
const MAX_QUOTED_LINKS = 25;

const shortened = (text: string): string =>
  text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}…` : text;

export const needsContent = ({ text, link }: Filters): boolean => text !== undefined || link !== undefined;

const mailbox = ({ name, address }: MailAddress): string => (name === '' ? address : `${name} <${address}>`);

export type HeadField = 'any' | 'from' | 'to' | 'cc' | 'rcptTo' | 'subject';

const TEXTS: Readonly<Record<HeadField, (head: MessageHead) => readonly string[]>> = {
  from: ({ summary: { from } }) => (from ? [mailbox(from)] : []),
  to: ({ summary: { to, cc }, rcptTo }) => [...[...to, ...cc].map(mailbox), ...rcptTo],
  cc: ({ summary: { cc } }) => cc.map(mailbox),
  rcptTo: ({ rcptTo }) => rcptTo,
  subject: ({ summary: { subject } }) => [subject],
  any: (head) => [...TEXTS.subject(head), ...TEXTS.from(head), ...TEXTS.to(head)],
};

export function headHas(head: MessageHead, field: HeadField, part: string): boolean {
  const folded = fold(withoutInvisible(part));
  return TEXTS[field](head).some((text) => fold(withoutInvisible(text)).includes(folded));
}

/** Returns the conditions that a message does not meet. @param content required if {@link needsContent} */
export function failedConditions(head: MessageHead, filters: Filters, content?: ComparedContent) {
  const failed: FailedCondition[] = [];
  const fail = (condition: keyof Filters, expected: string, got: string) =>
    failed.push({ condition, expected: shortened(expected), got: shortened(got) });
  for (const field of ['from', 'to', 'rcptTo', 'subject'] as const) {
    const part = filters[field];
    if (part !== undefined && !headHas(head, field, part)) fail(field, part, TEXTS[field](head).join(', '));
  }
  const { attachmentCount, codes, preview } = head.summary;
  const { hasAttachments, code, text, link } = filters;
  if (hasAttachments === (attachmentCount === 0))
    fail('hasAttachments', String(hasAttachments), String(!hasAttachments));
  if (code === (codes.length === 0))
    fail('code', code ? 'a code' : 'no code', codes.map(({ value }) => value).join(', ') || 'no code');
  if (!content) return failed;
  if (text !== undefined && !content.hasText(text)) fail('text', text, preview);
  if (link !== undefined && !meetsLink(content, link)) fail('link', wantedLink(link), foundLinks(content));
  return failed;
}

const meetsLink = (content: ComparedContent, wanted: boolean | LinkFilter): boolean =>
  typeof wanted === 'object' ? content.hasLink(wanted) : wanted === content.links.length > 0;

const foundLinks = ({ links }: ComparedContent): string =>
  links.slice(0, MAX_QUOTED_LINKS).map(quotedLink).join(', ') || 'no link';

const quotedLink = ({ kind, text, href }: MailLink): string =>
  `${kind} ${href}${text === '' ? '' : ` (${text})`}`;

function wantedLink(wanted: boolean | LinkFilter): string {
  if (typeof wanted === 'boolean') return wanted ? 'a link' : 'no link';
  const { kind, href, text } = wanted;
  const parts = [
    ...(kind === undefined ? [] : [`of kind ${kind}`]),
    ...(href === undefined ? [] : [`with "${href}" in its address`]),
    ...(text === undefined ? [] : [`with "${text}" in its words`]),
  ];
  return `a link ${parts.join(', ')}`.trim();
}
