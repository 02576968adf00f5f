import type { FailedCondition, Filters } from '../mail/matching/filters.ts';
import type { CheckedMessage, MessageRecord } from '../messages/records.ts';
import { quoted, typos } from '../text/nearest.ts';

type TextCondition = 'from' | 'to' | 'rcptTo' | 'subject' | 'text';
const TEXT_CONDITIONS: readonly TextCondition[] = ['from', 'to', 'rcptTo', 'subject', 'text'];
const isText = (condition: string): boolean => TEXT_CONDITIONS.some((name) => name === condition);

/** A value is similar to a condition if it has at least this share of the condition's words. */
const MIN_LIKENESS = 0.5;
/** Words of at least this length also match with one wrong letter. */
const MIN_MISTYPED = 5;

export const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`;

export const subjectOf = ({ summary }: MessageRecord): string =>
  summary.subject === '' ? 'a message without a subject' : quoted(summary.subject);

/** Text without accents, punctuation, spaces and case. */
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

const conditionsOf = (match: Filters): number =>
  Object.values(match).filter((condition) => condition !== undefined).length;

const compared = new WeakMap<MessageRecord, Map<string, { words: Set<string>; loose: string }>>();

function comparedOf(message: MessageRecord, { condition, got }: FailedCondition) {
  const ofMessage = compared.get(message) ?? new Map();
  compared.set(message, ofMessage);
  const known = ofMessage.get(condition);
  if (known) return known;
  // A test may confuse fields, so `subject` is also compared with the preview, and `text` with the subject.
  const { preview, subject } = message.summary;
  const text = `${got} ${{ subject: preview, text: subject }[condition as string] ?? ''}`;
  const made = { words: new Set(wordsOf(text)), loose: loose(text) };
  ofMessage.set(condition, made);
  return made;
}

/** The share of the condition's words that the message contains, from 0 to 1; 0 if below MIN_LIKENESS. */
function likeness(failed: FailedCondition, message: MessageRecord): number {
  const { condition, expected } = failed;
  if (!isText(condition)) return 0;
  const words = wordsOf(expected);
  const others = comparedOf(message, failed);
  const wanted = loose(expected);
  if (wanted !== '' && others.loose.includes(wanted)) return 1;
  const isIn = (word: string): boolean =>
    others.words.has(word) ||
    (word.length >= MIN_MISTYPED &&
      others.words.values().some((other: string) => typos(word, other, 1) <= 1));
  const share = words.length === 0 ? 0 : words.filter(isIn).length / words.length;
  return share >= MIN_LIKENESS ? share : 0;
}

/** Text conditions count twice: they describe the expected message better than a code or an attachment. */
const weightOf = (condition: string): number => (isText(condition) ? 2 : 1);

export function likenessOf({ message, failed }: CheckedMessage, match: Filters): number {
  const given = Object.entries(match).filter(([, condition]) => condition !== undefined);
  const all = given.reduce((sum, [name]) => sum + weightOf(name), 0);
  return failed.reduce((sum, one) => sum - weightOf(one.condition) + likeness(one, message), all);
}

const startOf = (text: string): string => (text === '' ? ' has no text' : ` begins with ${quoted(text)}`);

const INSTEAD: Record<keyof Filters, (failed: FailedCondition, summary: MessageRecord['summary']) => string> =
  {
    subject: () => '',
    text: ({ got }) => startOf(got),
    from: ({ got }) => (got === '' ? ' has no sender' : ` is from ${quoted(got)}`),
    to: ({ got }) => (got === '' ? ' has no recipients' : ` is to ${quoted(got)}`),
    rcptTo: ({ got }) => ` was sent to ${quoted(got)}`,
    hasAttachments({ expected }, { attachmentCount, inlineCount }) {
      if (expected === 'false') return ` has ${counted(attachmentCount, 'attachment')}`;
      return inlineCount === 0 ? '' : ` has ${counted(inlineCount, 'inline part')}, which is no attachment`;
    },
    link: ({ got }) => (got === 'no link' ? '' : ` has ${quoted(got)}`),
    code: ({ got }, { preview }) => (got === 'no code' ? startOf(preview) : ` has ${quoted(got)}`),
  };

/** @param isOnly true if `message` is the only unmatched message; false if the most similar of several */
export function closestSentence({ message, failed }: CheckedMessage, match: Filters, isOnly: boolean) {
  const [first] = failed;
  if (!first) return '';
  const lead = isOnly ? '' : 'Closest: ';
  const subject = subjectOf(message);
  const instead = INSTEAD[first.condition](first, message.summary);
  if (conditionsOf(match) === 1) {
    return isOnly && instead === '' ? `Its subject is ${subject}.` : `${lead}${subject}${instead}.`;
  }
  if (failed.length > 1) {
    const names = failed.map(({ condition }) => `"${condition}"`).join(' and ');
    return `${lead}${subject} does not meet ${names}.`;
  }
  const it = instead === '' ? '' : `: it${instead}`;
  return `${lead}${subject} meets all conditions but "${first.condition}"${it}.`;
}

/** Texts that look like a regular expression or a file name pattern. */
const PATTERN = /^\^|\.[*+]|\\[dwsbDWSB.]|\[[^\]]+\][*+]|\(\?[:=!]|^\/.+\/[a-z]*$|^\*|\*$|[^\d\s]\$$/;
const ENCODED_WORD = /=\?[^?\s]+\?[bq]\?[^?\s]*\?=/i;

/** Explains why one of the conditions probably matches no message at all; '' if all conditions look right. */
export function impossibleCondition(match: Filters): string {
  for (const name of TEXT_CONDITIONS) {
    const text = match[name];
    if (text === undefined) continue;
    if (ENCODED_WORD.test(text)) {
      return `The condition "${name}" is an encoded word; messages are compared after decoding, so write plain text.`;
    }
    if (PATTERN.test(text)) {
      return `The condition "${name}" looks like a regular expression or pattern, but conditions are plain text that must be contained.`;
    }
  }
  return '';
}

export const closestHint = ({ message, failed }: CheckedMessage): string =>
  failed.map((one) => hintOf(one, message)).find((hint) => hint !== '') ?? '';

function hintOf({ condition, expected, got }: FailedCondition, { summary }: MessageRecord): string {
  const { subject, preview, attachmentCount, codes } = summary;
  const wanted = loose(expected);
  const isIn = (text: string): boolean => wanted !== '' && loose(text).includes(wanted);
  if (isText(condition)) {
    if (expected !== expected.trim()) return `The condition "${condition}" begins or ends with white space.`;
    if (isIn(got)) return 'It differs only in accents, punctuation or spaces.';
  }
  if (condition === 'subject' && isIn(preview)) return 'Its text contains that: use the condition "text".';
  if (condition === 'text' && isIn(subject)) return 'Its subject contains that: use the condition "subject".';
  if (condition === 'link' && got === 'no link' && codes.length > 0)
    return 'It has a code: use the condition "code".';
  const isContent = ['text', 'link', 'code'].includes(condition);
  return isContent && attachmentCount > 0 ? `Attachments are not searched; it has ${attachmentCount}.` : '';
}
