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
  /** The body says that the code is in the subject, which is being read. */
  isPointedAt: boolean;
  /** Whether its words say that a code gives access to something. */
  isAboutAccess: () => boolean;
}

/** Returns points from 0 to about 100, {@link SOMETHING_ELSE}, or undefined where the rule does not apply. */
type CodeRule = (setting: Setting, mail: MailFacts) => number | undefined;

/** Points of evidence other than an announcement. */
const HINT = 60;
/** Points of an announcement that make a loose shape a code where only a colon or "is" stands between them. */
const SURE_ENOUGH = 85;
/** The same with other words between them, and for a chain of words. */
const SURE_IN_SENTENCE = 97;
/** Words on each side of a number that may say that it is something else. */
const WORDS_NEAR = 7;
/** A shorter number at a checkout is a coupon, unless the text speaks of verifying. */
const MIN_CHECKOUT_DIGITS = 6;

const when = (condition: boolean, points: number): number | undefined => (condition ? points : undefined);
/** Whether a text speaks of verifying, of signing in, or of a password. */
export const hasPurpose = (text: string): boolean => PURPOSES.some((purpose) => purpose.test(text));

/** Whether the words say "previous code" of this one. */
function isStale({ kindsBefore, after }: Setting): boolean {
  const last = kindsBefore.slice(-3);
  const stale = last.lastIndexOf('stale');
  const isNamed = stale >= 0 && (stale === last.length - 1 || last[stale + 1] === 'code');
  return isNamed || EXPIRED.test(after);
}

export const isEnteredInSigns = ({ sentence, after }: Setting): boolean =>
  ENTERED_BEFORE.test(sentence) || ENTERED_AFTER.test(after);

/** Whether the sentence says to type the number, and names nothing else. */
function isToEnter(setting: Setting): boolean {
  const { alone, direct, wide, sentenceWords, kindsBefore, kindsAfter } = setting;
  const last = sentenceWords.length - (BESIDE_NUMBER.test(sentenceWords.at(-1) ?? '') ? 2 : 1);
  const isBefore = direct ? isEntered(sentenceWords) : kindsBefore[last] === 'enter';
  const isAbove = alone && /[:：]\s*$/.test(wide) && kindsBefore.includes('enter');
  if (!isBefore && !isAbove && !kindsAfter.slice(0, 2).includes('enter') && !isEnteredInSigns(setting))
    return false;
  return ![...kindsBefore.slice(-WORDS_NEAR), ...kindsAfter.slice(0, WORDS_NEAR)].includes('other');
}

/** Reasons against a code that outweigh any announcement. The first rule that applies decides. */
const REFUSALS: readonly CodeRule[] = [
  // The sentence is advertising.
  ({ sentence, after, kindsBefore, kindsAfter, candidate: { shape, value } }) => {
    const kinds = [...kindsBefore, ...kindsAfter];
    if (kinds.includes('promo')) return SOMETHING_ELSE;
    const proves = value.length >= MIN_CHECKOUT_DIGITS || hasPurpose(sentence + after);
    return when(kinds.includes('cart') && !(shape === 'digits' && proves), SOMETHING_ELSE);
  },
  // The code was replaced by another.
  (setting) => when(isStale(setting), SOMETHING_ELSE),
  // A unit follows: the number is a quantity.
  ({ candidate, after }) => {
    const unit = /^\s?(\p{L}+)/u.exec(after)?.[1];
    return when(candidate.shape === 'digits' && unit !== undefined && kindOfWord(unit) === 'unit', 0);
  },
  // It is a word in capitals, and the sentence goes on.
  ({ candidate: { shape, value }, alone, direct, after, sentenceWords }) => {
    if (alone || shape !== 'loose' || !/^[A-Z]+$/.test(value)) return undefined;
    return when(!isEntered(sentenceWords) && !(direct && ENDS_LINE.test(after)), 0);
  },
];

/** The nearest sign of a script without blanks, the subject of the sentence, or the nearest telling word before. */
const ANNOUNCEMENTS: readonly CodeRule[] = [pointsOfSigns, pointsOfSubject, pointsBefore];

/** Evidence for a code that no word announces. Only for unambiguous shapes. */
const HINTS: readonly CodeRule[] = [
  // The sentence goes on to call it a code.
  pointsAfter,
  // It stands alone, and the next words say to enter it and what for.
  ({ alone, following }) => when(alone && ENTER_IT.test(following) && hasPurpose(following), HINT),
  // It is to be entered, and the sentence says where, or the mail is about access.
  (setting, { isAboutAccess }) =>
    when(isToEnter(setting) && (PLACE.test(setting.sentence + setting.after) || isAboutAccess()), HINT),
  // After a count of digits; or after words such as "here you go" in a mail about access.
  ({ direct, sentence, after }, { isAboutAccess }) => {
    const isPresented = direct && PRESENTED.test(sentence) && ENDS_LINE.test(after) && isAboutAccess();
    return when(isPresented || (direct && COUNTED.test(sentence)), HINT);
  },
  // It stands alone below a subject that speaks of a code.
  ({ alone }, { subjectSaysCode }) => when(alone && subjectSaysCode, HINT),
  // The body says that the code is in the subject.
  (_, { isPointedAt }) => when(isPointedAt, HINT),
];

function firstOf(rules: readonly CodeRule[], setting: Setting, mail: MailFacts): number | undefined {
  for (const rule of rules) {
    const points = rule(setting, mail);
    if (points !== undefined) return points;
  }
  return undefined;
}

/** @returns how sure it is that the candidate is a code, 0 to about 105, or {@link SOMETHING_ELSE} */
export function judge(setting: Setting, mail: MailFacts): number {
  const refused = firstOf(REFUSALS, setting, mail);
  if (refused !== undefined) return refused;
  const announced = firstOf(ANNOUNCEMENTS, setting, mail);
  const { shape, value } = setting.candidate;
  if (shape !== 'digits' && shape !== 'mixed') return judgeLooseShape(setting, announced ?? 0);
  const points = announced ?? firstOf(HINTS, setting, mail) ?? 0;
  return points > 0 && value.length === 6 ? points + 5 : points;
}

/** Years, words in capitals, and chains of words are everywhere: only a clear announcement makes them codes. */
function judgeLooseShape({ candidate, alone, direct, before }: Setting, announced: number): number {
  const sure =
    candidate.shape === 'words'
      ? alone && DIRECT.test(before) && announced >= SURE_IN_SENTENCE
      : announced >= SURE_ENOUGH && (direct || announced >= SURE_IN_SENTENCE);
  return sure ? announced - 5 : Math.min(announced, 0);
}
