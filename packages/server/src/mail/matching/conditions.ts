import { type ComparedContent, fold } from './compared-content.ts';
import { type Filters, type HeadField, headHas, type MessageHead } from './filters.ts';

export type TextField = HeadField | 'text' | 'code' | 'messageId' | 'tag';

type Negatable<C> = C & { not?: boolean };

export type MailCondition = Negatable<{ field: TextField; text: string } | { field: 'attachments' }>;

/** Conditions that only the database evaluates. `value`: bytes (`larger`, `smaller`) or epoch milliseconds. */
export type ColumnCondition = Negatable<
  { field: 'read' } | { field: 'larger' | 'smaller' | 'before' | 'after'; value: number }
>;

export type Condition = MailCondition | ColumnCondition;

export const isMailCondition = (condition: Condition): condition is MailCondition =>
  'text' in condition || condition.field === 'attachments';

export function conditionsOf(filters: Filters): Condition[] {
  const names = ['from', 'to', 'rcptTo', 'subject', 'text'] as const;
  const conditions: Condition[] = names.flatMap((field) => {
    const text = filters[field];
    return text === undefined ? [] : { field, text };
  });
  const { hasAttachments } = filters;
  if (hasAttachments !== undefined) conditions.push({ field: 'attachments', not: !hasAttachments });
  return conditions;
}

interface SearchedHead extends MessageHead {
  tags: readonly string[];
}

/** @returns whether all conditions hold; undefined if the result depends on `content`, which was not given */
export function meetsAll(
  conditions: readonly MailCondition[],
  head: SearchedHead,
  content?: ComparedContent,
): boolean | undefined {
  let isOpen = false;
  for (const condition of conditions) {
    const found = finds(condition, head, content);
    if (found === undefined) isOpen = true;
    else if (found === (condition.not === true)) return false;
  }
  return isOpen ? undefined : true;
}

function finds(condition: MailCondition, head: SearchedHead, content?: ComparedContent) {
  if (condition.field === 'attachments') return head.summary.attachmentCount > 0;
  const { field, text } = condition;
  if (field === 'text') return content?.hasText(text);
  if (field === 'messageId') return content?.hasMessageId(text);
  if (field === 'code') return head.summary.codes.some(({ value }) => fold(value) === fold(text));
  if (field === 'tag') return head.tags.some((tag) => fold(tag) === fold(text));
  const isInHead = headHas(head, field, text);
  return field === 'any' && !isInHead ? content?.hasText(text) : isInHead;
}
