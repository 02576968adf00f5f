import {
  isEntered,
  pointsAfter,
  pointsBefore,
  pointsOfSigns,
  pointsOfSubject,
  type Setting,
  SOMETHING_ELSE,
} from './code-context.ts';
import {
  BESIDE_NUMBER,
  COUNTED,
  DIRECT,
  ENDS_LINE,
  ENTER_IT,
  ENTERED_AFTER,
  ENTERED_BEFORE,
  EXPIRED,
  PLACE,
  PRESENTED,
} from './code-phrases.ts';
import { kindOfWord } from './code-words.ts';
import { PURPOSES } from './link-words.ts';

export interface MailFacts {
  subjectSaysCode: boolean;
  isPointedAt: boolean;
  isAboutAccess: () => boolean;
}

/** Returns points from 0 to about 100, {@link SOMETHING_ELSE}, or undefined if the rule does not apply. */
type CodeRule = (setting: Setting, mail: MailFacts) => number | undefined;

const HINT = 60;
/** Points that an announcement needs to make a loose shape a code, if only a colon or "is" stands between them. */
const SURE_ENOUGH = 85;
/** Points that an announcement needs if other words follow it, or if the candidate is a chain of words. */
const SURE_IN_SENTENCE = 97;
const WORDS_NEAR = 7;
/** At a checkout, a shorter number is a coupon unless the text mentions verification. */
const MIN_CHECKOUT_DIGITS = 6;

const when = (condition: boolean, points: number): number | undefined => (condition ? points : undefined);
export const hasPurpose = (text: string): boolean => PURPOSES.some((purpose) => purpose.test(text));

function isStale({ kindsBefore, after }: Setting): boolean {
  const last = kindsBefore.slice(-3);
  const stale = last.lastIndexOf('stale');
  const isNamed = stale >= 0 && (stale === last.length - 1 || last[stale + 1] === 'code');
  return isNamed || EXPIRED.test(after);
}

export const isEnteredInSigns = ({ sentence, after }: Setting): boolean =>
  ENTERED_BEFORE.test(sentence) || ENTERED_AFTER.test(after);

/** Whether the sentence asks to type the number, and names nothing else. */
function isToEnter(setting: Setting): boolean {
  const { alone, direct, wide, sentenceWords, kindsBefore, kindsAfter } = setting;
  const last = sentenceWords.length - (BESIDE_NUMBER.test(sentenceWords.at(-1) ?? '') ? 2 : 1);
  const isBefore = direct ? isEntered(sentenceWords) : kindsBefore[last] === 'enter';
  const isAbove = alone && /[:：]\s*$/.test(wide) && kindsBefore.includes('enter');
  if (!isBefore && !isAbove && !kindsAfter.slice(0, 2).includes('enter') && !isEnteredInSigns(setting))
    return false;
  return ![...kindsBefore.slice(-WORDS_NEAR), ...kindsAfter.slice(0, WORDS_NEAR)].includes('other');
}

/** Reasons why a number is not a code, whatever the announcement. The first rule that applies decides. */
const REFUSALS: readonly CodeRule[] = [
  ({ sentence, after, kindsBefore, kindsAfter, candidate: { shape, value } }) => {
    const kinds = [...kindsBefore, ...kindsAfter];
    if (kinds.includes('promo')) return SOMETHING_ELSE;
    const proves = value.length >= MIN_CHECKOUT_DIGITS || hasPurpose(sentence + after);
    return when(kinds.includes('cart') && !(shape === 'digits' && proves), SOMETHING_ELSE);
  },
  (setting) => when(isStale(setting), SOMETHING_ELSE),
  ({ candidate, after }) => {
    const unit = /^\s?(\p{L}+)/u.exec(after)?.[1];
    return when(candidate.shape === 'digits' && unit !== undefined && kindOfWord(unit) === 'unit', 0);
  },
  // It is a word in capitals within a sentence.
  ({ candidate: { shape, value }, alone, direct, after, sentenceWords }) => {
    if (alone || shape !== 'loose' || !/^[A-Z]+$/.test(value)) return undefined;
    return when(!isEntered(sentenceWords) && !(direct && ENDS_LINE.test(after)), 0);
  },
];

/** The nearest sign of a script without spaces, the subject of the sentence, or the nearest significant word before. */
const ANNOUNCEMENTS: readonly CodeRule[] = [pointsOfSigns, pointsOfSubject, pointsBefore];

/** Evidence for a code without an announcement. Only for unambiguous shapes. */
const HINTS: readonly CodeRule[] = [
  pointsAfter,
  // It is alone on its line, and the next words ask to enter it and give the purpose.
  ({ alone, following }) => when(alone && ENTER_IT.test(following) && hasPurpose(following), HINT),
  // The text asks to enter it, and the sentence says where, or the mail is about access.
  (setting, { isAboutAccess }) =>
    when(isToEnter(setting) && (PLACE.test(setting.sentence + setting.after) || isAboutAccess()), HINT),
  // After a count of digits; or after words such as "here you go" in a mail about access.
  ({ direct, sentence, after }, { isAboutAccess }) => {
    const isPresented = direct && PRESENTED.test(sentence) && ENDS_LINE.test(after) && isAboutAccess();
    return when(isPresented || (direct && COUNTED.test(sentence)), HINT);
  },
  // It is alone on its line, and the subject mentions a code.
  ({ alone }, { subjectSaysCode }) => when(alone && subjectSaysCode, HINT),
  (_, { isPointedAt }) => when(isPointedAt, HINT),
];

function firstOf(rules: readonly CodeRule[], setting: Setting, mail: MailFacts): number | undefined {
  for (const rule of rules) {
    const points = rule(setting, mail);
    if (points !== undefined) return points;
  }
  return undefined;
}

/** @returns confidence that the candidate is a code, from 0 to about 105, or {@link SOMETHING_ELSE} */
export function judge(setting: Setting, mail: MailFacts): number {
  const refused = firstOf(REFUSALS, setting, mail);
  if (refused !== undefined) return refused;
  const announced = firstOf(ANNOUNCEMENTS, setting, mail);
  const { shape, value } = setting.candidate;
  if (shape !== 'digits' && shape !== 'mixed') return judgeLooseShape(setting, announced ?? 0);
  const points = announced ?? firstOf(HINTS, setting, mail) ?? 0;
  return points > 0 && value.length === 6 ? points + 5 : points;
}

/** Years, words in capitals and chains of words are frequent, so they need a clear announcement. */
function judgeLooseShape({ candidate, alone, direct, before }: Setting, announced: number): number {
  const sure =
    candidate.shape === 'words'
      ? alone && DIRECT.test(before) && announced >= SURE_IN_SENTENCE
      : announced >= SURE_ENOUGH && (direct || announced >= SURE_IN_SENTENCE);
  return sure ? announced - 5 : Math.min(announced, 0);
}
