import type { FailedCondition, Filters } from '../../mail/matching/filters.ts';
import { quoted } from '../../nearest.ts';
import type { MessageRecord } from '../../store/contract/index.ts';
import type { SeenMessage } from './outcome.ts';

/** The conditions that are one text. */
type TextCondition = 'from' | 'to' | 'rcptTo' | 'subject' | 'text';
const TEXT_CONDITIONS: readonly TextCondition[] = ['from', 'to', 'rcptTo', 'subject', 'text'];

export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

export const subjectOf = ({ summary }: MessageRecord): string =>
  summary.subject === '' ? 'a message without a subject' : quoted(summary.subject);

/** What remains of a text without accents, punctuation, spaces and case. */
const loose = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replace(/[^\p{L}\p{N}]/gu, '');

const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');

/** The share of the words of a condition that a value has, 0 to 1. */
function likeness({ expected, got }: FailedCondition): number {
  const words = wordsOf(expected);
  const present = new Set(wordsOf(got));
  return words.length === 0 ? 0 : words.filter((word) => present.has(word)).length / words.length;
}

/** The message that fails the fewest conditions; of several, the one whose value is most alike; then the newest. */
export function closestOf(seen: readonly SeenMessage[]): SeenMessage | undefined {
  const likenessOf = ({ failed }: SeenMessage): number =>
    failed.reduce((sum, condition) => sum + likeness(condition), 0);
  const [best] = seen
    .map((message) => ({ message, likeness: likenessOf(message) }))
    .toSorted((a, b) => a.message.failed.length - b.message.failed.length || b.likeness - a.likeness);
  return best?.message;
}

/** What a message has in place of what a condition demands, as a clause after its subject; '' for nothing to add. */
function insteadOf({ condition, expected, got }: FailedCondition, { summary }: MessageRecord): string {
  switch (condition) {
    case 'subject':
      return '';
    case 'from':
      return got === '' ? ' has no sender' : ` is from ${quoted(got)}`;
    case 'to':
      return got === '' ? ' has no recipients' : ` is to ${quoted(got)}`;
    case 'rcptTo':
      return ` was sent to ${quoted(got)}`;
    case 'hasAttachments':
      if (expected === 'false') return ` has ${counted(summary.attachmentCount, 'attachment')}`;
      return summary.inlineCount === 0
        ? ''
        : ` has ${counted(summary.inlineCount, 'inline part')}, which is no attachment`;
    case 'link':
      return got === 'no link' ? '' : ` has ${quoted(got)}`;
    case 'code':
      if (got !== 'no code') return ` has ${quoted(got)}`;
      return summary.preview === '' ? ' has no text' : ` begins with ${quoted(summary.preview)}`;
    default:
      return got === '' ? ' has no text' : ` begins with ${quoted(got)}`;
  }
}

/**
 * The closest of the messages that did not match, with what it has instead.
 * @param conditions how many conditions the wait has
 */
export function closestSentence({ message, failed }: SeenMessage, conditions: number): string {
  const [first] = failed;
  if (!first) return '';
  const subject = subjectOf(message);
  const instead = insteadOf(first, message);
  if (conditions === 1) return `Closest: ${subject}${instead}.`;
  if (failed.length > 1) {
    const names = failed.map(({ condition }) => `"${condition}"`).join(' and ');
    return `Closest: ${subject} does not meet ${names}.`;
  }
  const it = instead === '' ? '' : `: it${instead}`;
  return `Closest: ${subject} meets all conditions but "${first.condition}"${it}.`;
}

/** Texts that look like a regular expression or a pattern of file names. */
const PATTERN = /^\^|\.[*+]|\\[dwsbDWSB.]|\[[^\]]+\][*+]|\(\?[:=!]|^\/.+\/[a-z]*$|^\*|\*$|[^\d\s]\$$/;
/** RFC 2047 section 2. */
const ENCODED_WORD = /=\?[^?\s]+\?[bq]\?[^?\s]*\?=/i;

/** What is odd about the texts of the conditions themselves; '' for nothing. */
export function conditionHint(match: Filters): string {
  for (const name of TEXT_CONDITIONS) {
    const text = match[name];
    if (text === undefined) continue;
    if (ENCODED_WORD.test(text)) {
      return `The condition "${name}" is an encoded word; messages are compared after decoding, so write plain text.`;
    }
    if (text !== text.trim()) return `The condition "${name}" begins or ends with white space.`;
    if (PATTERN.test(text)) {
      return `The condition "${name}" looks like a pattern, but conditions are plain text that must be contained.`;
    }
  }
  return '';
}

/**
 * Why a message that looks right does not match, and which condition would; '' where nothing is known.
 */
export function closestHint({ message, failed }: SeenMessage): string {
  const { subject, preview, attachmentCount, codes } = message.summary;
  for (const { condition, expected, got } of failed) {
    const wanted = loose(expected);
    const isText = TEXT_CONDITIONS.some((name) => name === condition);
    if (isText && wanted !== '' && loose(got).includes(wanted)) {
      return 'It differs only in accents, punctuation or spaces.';
    }
    if (condition === 'subject' && wanted !== '' && loose(preview).includes(wanted)) {
      return 'Its text contains that: use the condition "text".';
    }
    if (condition === 'text' && wanted !== '' && loose(subject).includes(wanted)) {
      return 'Its subject contains that: use the condition "subject".';
    }
    if (condition === 'link' && got === 'no link' && codes.length > 0) {
      return 'It has a code: use the condition "code".';
    }
    const isContent = condition === 'text' || condition === 'link' || condition === 'code';
    if (isContent && attachmentCount > 0) {
      return `Attachments are not searched; it has ${attachmentCount}.`;
    }
  }
  return '';
}
