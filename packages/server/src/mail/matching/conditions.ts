import { type ComparedContent, fold } from './compared-content.ts';
import { type FilteredSummary, type Filters, foldText, type HeadField, textsOf } from './filters.ts';

export type TextField = HeadField | 'text' | 'code' | 'messageId' | 'tag';

/** With `not`, a message must fail the condition. */
type Negatable<C> = C & { not?: boolean };

export type MailCondition = Negatable<{ field: TextField; text: string } | { field: 'attachments' }>;

/** A condition that the database alone decides: bytes of the raw source, or epoch milliseconds. */
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

export interface ComparedHead extends FilteredSummary {
  tags: readonly string[];
}

export class Comparison {
  readonly #head: ComparedHead;
  readonly #folded = new Map<HeadField, string[]>();

  constructor(head: ComparedHead) {
    this.#head = head;
  }

  /** @returns whether all conditions are met; undefined if the content is needed to decide */
  meets(conditions: readonly MailCondition[], content?: ComparedContent): boolean | undefined {
    let isOpen = false;
    for (const condition of conditions) {
      const found = this.#finds(condition, content);
      if (found === undefined) isOpen = true;
      else if (found === (condition.not === true)) return false;
    }
    return isOpen ? undefined : true;
  }

  #finds(condition: MailCondition, content: ComparedContent | undefined): boolean | undefined {
    const { summary, tags } = this.#head;
    if (condition.field === 'attachments') return summary.attachmentCount > 0;
    const { field, text } = condition;
    switch (field) {
      case 'text':
        return content?.hasText(text);
      case 'messageId':
        return content?.hasMessageId(text);
      case 'code':
        return summary.codes.some(({ value }) => fold(value) === fold(text));
      case 'tag':
        return tags.some((tag) => fold(tag) === fold(text));
      case 'any':
        return this.#headHas(field, text) || content?.hasText(text);
      default:
        return this.#headHas(field, text);
    }
  }

  #headHas(field: HeadField, text: string): boolean {
    let folded = this.#folded.get(field);
    if (folded === undefined) {
      folded = textsOf(field, this.#head).map(foldText);
      this.#folded.set(field, folded);
    }
    const part = foldText(text);
    return folded.some((one) => one.includes(part));
  }
}
