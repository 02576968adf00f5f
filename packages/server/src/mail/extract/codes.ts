import type { MailCode, MailImage } from '@mayfly/client/contract';
import { foldBlanks, INVISIBLE } from '../mime/clean.ts';
import { type Candidate, candidatesOf } from './code-candidates.ts';
import * as phrases from './code-phrases.ts';
import * as rules from './code-rules.ts';
import { NOT_VERIFY } from './link-words.ts';

/** Only this many characters are searched, because codes are near the top of a mail. */
const MAX_READ = 32 * 1024;
const MAX_CODES = 5;
const CONTEXT_SIDE = 40;
const MAX_TOPIC = 2_048;
/** In wrapped text, a line of at least this many characters may continue on the next line. */
const MIN_WRAPPED = 50;
const SURE = 45;
/** Limit in characters. A longer line is a paragraph, not source code. */
const MAX_SOURCE_LINE = 200;

/** The digit zero of each other script that occurs in mail. The other nine digits follow it in Unicode. */
const ZEROS =
  '\u0660\u06f0\u0966\u09e6\u0a66\u0ae6\u0b66\u0be6\u0c66\u0ce6\u0d66\u0e50\u0ed0\u1040\u17e0\uff10';
const FOREIGN_DIGIT = [...ZEROS]
  .map((zero) => `${zero}-${String.fromCharCode(zero.charCodeAt(0) + 9)}`)
  .join('');
const HYPHENS = '\u2010\u2011\u2012\u2013';
/** Characters that a user does not type: foreign digits, special hyphens, keycap marks (4\ufe0f\u20e3). */
const NOT_TYPED = new RegExp(
  `[${FOREIGN_DIGIT}${INVISIBLE}\\ufe00-\\ufe0f\\u20e3]|(?<=[0-9A-Za-z])[${HYPHENS}](?=[0-9A-Za-z])`,
  'gv',
);
const LINK = /(?:https?:\/\/|www\.)\S+/gi;

function isInSource(text: string, candidate: Candidate): boolean {
  const [start, end] = rules.lineRange(text, candidate);
  return end - start <= MAX_SOURCE_LINE && phrases.SOURCE_LINE.test(text.slice(start, end));
}

function contextOf(text: string, { start, end }: Candidate): string {
  const from = Math.max(0, start - CONTEXT_SIDE);
  return foldBlanks(text.slice(from, end + CONTEXT_SIDE))
    .trim()
    .replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
}

function asTyped(text: string): string {
  return text.replace(NOT_TYPED, (character) => {
    if (HYPHENS.includes(character)) return '-';
    for (const zero of ZEROS) {
      const digit = character.charCodeAt(0) - zero.charCodeAt(0);
      if (digit >= 0 && digit <= 9) return String(digit);
    }
    return '';
  });
}

const oneWord = (words: string): string => 'onetime'.padEnd(words.length);

interface Found {
  code: MailCode;
  score: number;
}

interface Mail extends rules.MailFacts {
  /** The subject has a percentage such as "15% off", so codes with letters are coupons. */
  isOffer: boolean;
  /** The subject is that of a receipt or similar. A code counts only if the text says to enter it. */
  isRecord: boolean;
  isSubjectOfAccess: () => boolean;
  isShort: boolean;
}

function read(given: string, mail: Mail): Found[] {
  const text = asTyped(given.slice(0, MAX_READ));
  if (!/\d|[A-Z]{3}|-[a-z]{3,12}-/.test(text)) return [];
  // Links are replaced by blanks of the same length, so that offsets stay valid.
  const unlinked = text.replace(LINK, (link) => ' '.repeat(link.length));
  const candidates = candidatesOf(unlinked);
  if (candidates.length === 0) return [];
  const readable = unlinked.replace(phrases.ONE_TIME, oneWord).replace(phrases.ONE_TIME_SIGNS, oneWord);
  // In mail about offers or bookings, a code with letters is a coupon or a booking reference.
  const noLetters = candidates.some(hasLetters) && (mail.isOffer || phrases.BOOKING.test(readable));
  return candidates.flatMap((candidate) => {
    if (noLetters && hasLetters(candidate)) return [];
    const setting = rules.settingOf(readable, candidate);
    if ((mail.isRecord && !isMeantForEntering(setting)) || isInSource(readable, candidate)) return [];
    const score = rules.judge(setting, mail);
    if (score >= 0 && (score < SURE || isLabelOfRecord(setting, mail))) return [];
    return { code: { value: candidate.value, context: score < 0 ? '' : contextOf(text, candidate) }, score };
  });
}

const hasLetters = ({ value }: Candidate): boolean => /[A-Z]/i.test(value);

/** Whether a code only names a record ("test code 10231"): no words say that the code gives access. */
function isLabelOfRecord(setting: rules.Setting, mail: Mail): boolean {
  const { alone, direct } = setting;
  if (alone || mail.subjectSaysCode || (direct && mail.isShort)) return false;
  const speaks = direct ? mail.isAboutAccess() : mail.isSubjectOfAccess() || speaksOfAccess(lineOf(setting));
  return !speaks && !isMeantForEntering(setting) && !isNamedInFull(setting);
}

function lineOf({ sentence, after }: rules.Setting): string {
  const lines = sentence.split('\n');
  let line = lines.pop() ?? '';
  const [rest = '', next = ''] = after.split('\n', 2);
  const isWrapped = line.length + rest.length >= MIN_WRAPPED;
  const before = lines.pop() ?? '';
  if (before.length >= MIN_WRAPPED) line = `${before} ${line}`;
  return `${line} ${rest} ${isWrapped ? next : ''}`;
}

const isMeantForEntering = (setting: rules.Setting): boolean =>
  phrases.YOUR_CODE_IS.test(setting.sentence) ||
  rules.isEnteredInSigns(setting) ||
  rules.hasWord(setting.wide + setting.following, (kind) => kind === 'enter');

const isNamedInFull = ({ sentence, wide }: rules.Setting): boolean =>
  phrases.COUNTED.test(sentence) ||
  rules.hasWord(wide, (kind, word) => kind === 'code' && !phrases.BARE_CODE.test(word));

const descriptionsOf = (images: readonly MailImage[]): string =>
  images.flatMap(({ alt }) => (alt !== null && /\d{2}/.test(alt) ? [alt] : [])).join('\n\n');

function once(ask: () => boolean): () => boolean {
  let answer: boolean | undefined;
  return () => {
    answer ??= ask();
    return answer;
  };
}

function speaksOfAccess(text: string): boolean {
  const read = text.slice(0, MAX_TOPIC);
  return phrases.ABOUT_ACCESS.test(read) || rules.hasPurpose(read);
}

const hasCode = (found: readonly Found[]): boolean => found.some(({ score }) => score > 0);

/** Finds one-time codes, most likely first. @param words text of the HTML, searched if `text` has no code */
export function findCodes(
  subject: string,
  text: string | null,
  words: string | null,
  images: readonly MailImage[] = [],
): MailCode[] {
  const subjectSaysCode = rules.saysCode(asTyped(subject));
  const mail: Mail = {
    subjectSaysCode,
    isPointedAt: false,
    isOffer: /\d\s?%/.test(subject),
    isRecord: !subjectSaysCode && phrases.RECORD_SUBJECT.test(subject),
    // Lazy, because most mails contain no number that could be a code.
    isAboutAccess: once(() => [subject, text ?? '', words ?? ''].some(speaksOfAccess)),
    isSubjectOfAccess: once(
      () => rules.hasPurpose(subject) && !NOT_VERIFY.test(subject) && !phrases.CONFIRMED.test(subject),
    ),
    isShort: (text ?? words ?? '').length < 40,
  };
  let inBody = text === null ? [] : read(text, mail);
  if (words !== null && !hasCode(inBody)) inBody = read(words, mail);
  const isPointedAt = !hasCode(inBody) && phrases.IN_SUBJECT.test((text ?? words ?? '').slice(0, MAX_TOPIC));
  const all = [...inBody, ...read(subject, { ...mail, isPointedAt })];
  if (!hasCode(all) && images.length > 0) all.push(...read(descriptionsOf(images), mail));
  return best(all);
}

/** Merges equal values; each repetition adds points. Drops values that are also another kind of number. */
function best(found: readonly Found[]): MailCode[] {
  const byValue = new Map<string, Found>();
  for (const one of found) {
    const before = byValue.get(one.code.value);
    if (before === undefined) byValue.set(one.code.value, { ...one });
    else if (before.score < 0 || one.score < 0) before.score = -1;
    else before.score = Math.max(before.score, one.score) + 15;
  }
  return [...byValue.values()]
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_CODES)
    .map(({ code }) => code);
}
