import type { MailAddress } from '../mail/mail.ts';
import type { FullMessageRecord, MessageRecord } from '../store/store.ts';

/** Conditions on a message. Text is compared without regard to case and may be anywhere. */
export interface Filters {
  /** In the author's address or display name. */
  from?: string | undefined;
  /** In a recipient's address or display name: To, Cc, or the envelope. */
  to?: string | undefined;
  subject?: string | undefined;
  /** In the visible text. */
  text?: string | undefined;
  hasAttachments?: boolean | undefined;
}

/** A condition that a message did not meet, and what stood there instead. */
export interface FailedCondition {
  condition: keyof Filters;
  got: string;
}

/** True when the conditions need a message's content and not only its summary. */
export const needsContent = (filters: Filters): boolean => filters.text !== undefined;

/** Letters that differ only in case or in composition (é as one or two code points) become one. */
const fold = (text: string): string => text.normalize('NFC').toLowerCase().normalize('NFC');

const contains = (text: string, part: string): boolean => fold(text).includes(fold(part));

const mailbox = ({ name, address }: MailAddress): string => (name === '' ? address : `${name} <${address}>`);

/**
 * The conditions on the summary that a message fails; none when it matches. The condition on the text
 * is {@link failedText}'s.
 */
export function failedConditions(message: MessageRecord, filters: Filters): FailedCondition[] {
  const { summary } = message;
  const failed: FailedCondition[] = [];
  const demand = (condition: keyof Filters, part: string | undefined, got: string) => {
    if (part !== undefined && !contains(got, part)) failed.push({ condition, got });
  };
  demand('from', filters.from, summary.from ? mailbox(summary.from) : '');
  demand('to', filters.to, [...[...summary.to, ...summary.cc].map(mailbox), ...message.rcptTo].join(', '));
  demand('subject', filters.subject, summary.subject);
  const hasAttachments = summary.attachmentCount > 0;
  if (filters.hasAttachments !== undefined && filters.hasAttachments !== hasAttachments) {
    failed.push({ condition: 'hasAttachments', got: String(hasAttachments) });
  }
  return failed;
}

/** The same for the condition on the text; `got` is the message's preview. */
export function failedText(message: FullMessageRecord, filters: Filters): FailedCondition[] {
  const { text, htmlWords } = message.content;
  if (filters.text === undefined || contains(text ?? htmlWords ?? '', filters.text)) return [];
  return [{ condition: 'text', got: message.summary.preview }];
}
