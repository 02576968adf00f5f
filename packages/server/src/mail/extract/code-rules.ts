import type { Candidate } from './code-candidates.ts';
import * as phrases from './code-phrases.ts';
import { kindOfWord, type WordKind } from './code-words.ts';
import { PURPOSES } from './link-words.ts';

/* Scores a candidate (possible code) by the words near it. Text such as "your code:" is its announcement. */

/** Characters before a candidate that are searched for its announcement. */
const REACH = 240;
const WORDS_NEAR = 7;
/** Words to skip at another number: the number itself, and the two words before it, which describe it. */
const SKIPPED_BEFORE_NUMBER = 3;

const SOMETHING_ELSE = -1;
/** Minimum points of a `year` or `loose` candidate directly after a word like "code" and a colon or "is". */
const SURE_ENOUGH = 85;
/** Minimum points if more text is between that word and the candidate, and always for the shape `words`. */
const SURE_IN_SENTENCE = 97;
/** In a sentence about a shopping cart, a shorter number is a coupon, unless the sentence says "verify". */
const MIN_CHECKOUT_DIGITS = 6;

const LONG_NUMBER = /^\d{4,}$/;
const WORD = /[\p{L}\p{M}\p{N}]+|№|#(?!>)|©/gu;
const SENTENCE_END = /[.!?](?=\s)|[。！？।۔]|\n\s*\n|(?<=[:：][ \t]?[\w-]{0,30}\d{4}[\w-]{0,30})[ \t]*\n/;
const SIGNS = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]/;

export type Setting = ReturnType<typeof settingOf>;

/** The text near a candidate. `sentence` and `after` contain only text of the candidate's own sentence. */
export function settingOf(text: string, candidate: Candidate) {
  const { start, end } = candidate;
  const [lineStart, lineEnd] = lineRange(text, candidate);
  /** The candidate is the only word on its line. */
  const alone = !/[\p{L}\p{N}]/u.test(text.slice(lineStart, start) + text.slice(end, lineEnd));
  const wide = text.slice(Math.max(0, start - REACH), start);
  const following = text.slice(end, end + REACH / 2);
  const sentence = (alone ? wide.trimEnd() : wide).split(SENTENCE_END).at(-1) ?? '';
  const [after = ''] = following.split(SENTENCE_END, 1);
  const before = alone ? wide : sentence;
  /** The candidate is alone on its line, or a colon, "is" or similar directly precedes it. */
  const direct = alone || phrases.DIRECT.test(before);
  const [sentenceWords, wordsAfter] = [wordsOf(sentence), wordsOf(after)];
  const [kindsBefore, kindsAfter] = [kindsOf(sentenceWords), kindsOf(wordsAfter)];
  return {
    ...{ candidate, alone, direct, wide, following, sentence, before, after },
    ...{ sentenceWords, kindsBefore, wordsAfter, kindsAfter },
  };
}

export function lineRange(text: string, { start, end }: Candidate): [start: number, end: number] {
  const lineEnd = text.indexOf('\n', end);
  return [text.lastIndexOf('\n', start - 1) + 1, lineEnd < 0 ? text.length : lineEnd];
}

const wordsOf = (text: string): string[] => text.match(WORD) ?? [];
const kindsOf = (words: readonly string[]): WordKind[] => words.map(kindOfWord);
const isCode = (kind: WordKind | undefined) => kind === 'code';
const isOther = (kind: WordKind | undefined) => kind === 'other' || kind === 'promo';

export function saysCode(text: string): boolean {
  const kinds = kindsOf(wordsOf(text));
  return (
    text.search(phrases.CODE_SIGNS) >= 0 ||
    kinds.some((kind, i) => isCode(kind) && !isOther(kinds[i - 1]) && !isOther(kinds[i + 1]))
  );
}

export const hasPurpose = (text: string): boolean => PURPOSES.some((purpose) => purpose.test(text));
export const hasWord = (text: string, test: (kind: WordKind, word: string) => boolean): boolean =>
  wordsOf(text).some((word) => test(kindOfWord(word), word));

/** Whether one of the last three words asks the reader to enter a number, such as "Geben" in "Geben Sie bitte". */
const isEntered = (words: readonly string[]): boolean => kindsOf(words.slice(-3)).includes('enter');
export const isEnteredInSigns = ({ sentence, after }: Setting): boolean =>
  phrases.ENTERED_BEFORE.test(sentence) || phrases.ENTERED_AFTER.test(after);

/** Whether the sentence asks the reader to enter the number and has no word for another kind of number. */
function isToEnter(setting: Setting): boolean {
  const { alone, direct, wide, sentenceWords, kindsBefore, kindsAfter } = setting;
  const last = sentenceWords.length - (phrases.BESIDE_NUMBER.test(sentenceWords.at(-1) ?? '') ? 2 : 1);
  const isAsked =
    (direct ? isEntered(sentenceWords) : kindsBefore[last] === 'enter') ||
    (alone && /[:：]\s*$/.test(wide) && kindsBefore.includes('enter')) ||
    kindsAfter.slice(0, 2).includes('enter') ||
    isEnteredInSigns(setting);
  return (
    isAsked && ![...kindsBefore.slice(-WORDS_NEAR), ...kindsAfter.slice(0, WORDS_NEAR)].includes('other')
  );
}

/** Whether the object of "enter" is a word like "code", as in "Enter the code shown on this page". */
function entersCode(kinds: readonly WordKind[]): boolean {
  const at = kinds.lastIndexOf('enter');
  if (at < 0) return false;
  const object = kinds.slice(at + 1, at + 6);
  return object.find((kind) => isCode(kind) || isOther(kind) || kind === 'number') === 'code';
}

/** The kind of one word. After a salutation, `other` becomes `plain`: "customer" in "Dear customer". */
function kindAt(words: readonly string[], at: number): WordKind {
  const word = words[at] ?? '';
  if (word === '©') return 'other';
  const kind = kindOfWord(word);
  return kind === 'other' && phrases.SALUTATION.test(words[at - 1] ?? '') ? 'plain' : kind;
}

function nextNoun(words: readonly string[], at: number): string {
  const next = words[at + 1] ?? '';
  return (/^(?:de|di|da|do|del|des)$/i.test(next) ? words[at + 2] : next) ?? '';
}

/** How many words before a candidate are searched for words of the kinds `code` and `other`, or for "key". */
function reachesOf({ alone, direct, wide, candidate, kindsBefore }: Setting) {
  const entered = entersCode(kindsBefore);
  // "Sign-in key: K7QX-2M9P" is a code, but a key with only digits may be anything.
  const key = direct && candidate.shape === 'mixed' ? 4 : 0;
  if (alone) {
    // If the text above ends with a full stop, it is a sentence and not a label of the number.
    const isLabelled = !entered && !/[.!?。！？]\s*$/.test(wide);
    return { key, code: 40, other: isLabelled ? 3 : 0 };
  }
  if (entered) return { key, code: 14, other: direct ? 0 : 1 };
  return { key, code: direct ? 14 : 3, other: 4 };
}

function pointsBefore(setting: Setting): number | undefined {
  const reach = reachesOf(setting);
  const [words, lostPerWord] = setting.alone ? [wordsOf(setting.wide), 1] : [setting.sentenceWords, 3];
  let skipped = 0;
  for (let distance = 1; distance <= Math.min(reach.code, words.length); distance++) {
    const at = words.length - distance;
    const word = words[at] ?? '';
    skipped = /\d/.test(word) ? SKIPPED_BEFORE_NUMBER : Math.max(0, skipped - 1);
    if (skipped === 0 && distance <= reach.other && namesOther(words, at)) return SOMETHING_ELSE;
    const isKey = distance <= reach.key && phrases.KEY.test(word);
    if (skipped === SKIPPED_BEFORE_NUMBER || !(isKey || isCode(kindAt(words, at)))) continue;
    return isCodeOfOther(words, at) ? SOMETHING_ELSE : 100 - distance * lostPerWord;
  }
  return undefined;
}

const isCodeOfOther = (words: readonly string[], at: number): boolean =>
  isOther(kindAt(words, at - 1)) || isOther(kindOfWord(nextNoun(words, at)));

function namesOther(words: readonly string[], at: number): boolean {
  const kind = kindAt(words, at);
  if (isOther(kind)) return true;
  if (kind !== 'label' && kind !== 'number') return false;
  if (isCode(kindAt(words, at - 1)) || (kind === 'label' && isCode(kindAt(words, at - 2)))) return false;
  // Near "enter", these kinds do not name another number: "on the page, enter", "the number to enter".
  return !isEntered(words.slice(at + 1)) && !isEntered(words.slice(0, at));
}

/** Points if a word like "password" is the subject: "One-time password for the payment is 482913." */
function pointsOfSubject({ alone, sentence, sentenceWords }: Setting): number | undefined {
  if (alone || !phrases.VERB.test(sentence)) return undefined;
  const at = sentenceWords.slice(0, 5).findIndex((_, i) => isCode(kindAt(sentenceWords, i)));
  if (at < 0 || isCodeOfOther(sentenceWords, at)) return undefined;
  const last = kindAt(sentenceWords, sentenceWords.length - 2);
  // In "... of 59.90 EUR is 482913", "EUR" belongs to 59.90, so it does not show what 482913 is.
  const hasNumber = /\d/.test(sentenceWords.at(-3) ?? '');
  return hasNumber || (!isOther(last) && last !== 'number' && last !== 'label') ? 85 : undefined;
}

function pointsAfter({ kindsAfter, wordsAfter }: Setting): number | undefined {
  for (const [i, kind] of kindsAfter.slice(0, 9).entries()) {
    if (isOther(kind) || LONG_NUMBER.test(wordsAfter[i] ?? '')) return undefined;
    if (isCode(kind)) return isOther(kindOfWord(nextNoun(wordsAfter, i))) ? undefined : 90 - 3 * i;
  }
  return undefined;
}

/** For languages written without spaces: scores by the last known word before the candidate, or the next after it. */
function pointsOfSigns({ before, after }: Setting): number | undefined {
  if (!SIGNS.test(before + after)) return undefined;
  const lastCode = [...before.matchAll(phrases.CODE_SIGNS)].at(-1);
  const lastOther = [...before.matchAll(phrases.OTHER_SIGNS)].at(-1);
  const code = lastCode?.index ?? -1;
  const other = lastOther?.index ?? -1;
  // True if the word for "code" directly follows a word for something else, as in "coupon code".
  const attached = other >= 0 && before.slice(other + (lastOther?.[0].length ?? 0), code).trim() === '';
  if (attached && other < code && phrases.BARE_CODE_SIGN.test(lastCode?.[0] ?? '')) return SOMETHING_ELSE;
  if (code >= 0 && code >= other - 3) return 95 - (before.length - code) / 4;
  if (other >= 0 && before.length - other < 20) return SOMETHING_ELSE;
  const behind = after.search(phrases.CODE_SIGNS);
  return behind >= 0 && behind < 40 ? 80 - behind / 2 : undefined;
}

function isStale({ kindsBefore, after }: Setting): boolean {
  const last = kindsBefore.slice(-3);
  const stale = last.lastIndexOf('stale');
  const isNamed = stale >= 0 && (stale === last.length - 1 || last[stale + 1] === 'code');
  return isNamed || phrases.EXPIRED.test(after);
}

/** Returns the low score of a candidate that is no code, even after "your code:"; undefined if nothing says so. */
function refusal(setting: Setting): number | undefined {
  const { alone, direct, sentence, after, sentenceWords, kindsBefore, kindsAfter, candidate } = setting;
  const { shape, value } = candidate;
  const kinds = [...kindsBefore, ...kindsAfter];
  if (kinds.includes('promo') || isStale(setting)) return SOMETHING_ELSE;
  if (kinds.includes('cart')) {
    const proves = value.length >= MIN_CHECKOUT_DIGITS || hasPurpose(sentence + after);
    if (shape !== 'digits' || !proves) return SOMETHING_ELSE;
  }
  const unit = /^\s?(\p{L}+)/u.exec(after)?.[1] ?? '';
  if (shape === 'digits' && kindOfWord(unit) === 'unit') return 0;
  const isWord = !alone && shape === 'loose' && /^[A-Z]+$/.test(value);
  return isWord && !isEntered(sentenceWords) && !(direct && phrases.ENDS_LINE.test(after)) ? 0 : undefined;
}

export interface MailFacts {
  subjectSaysCode: boolean;
  /** True if the subject is being searched, and the body says that the subject contains the code. */
  isPointedAt: boolean;
  isAboutAccess: () => boolean;
}

function isHinted(setting: Setting, { subjectSaysCode, isPointedAt, isAboutAccess }: MailFacts): boolean {
  const { alone, direct, sentence, after, following } = setting;
  return (
    isPointedAt ||
    (alone && (subjectSaysCode || (phrases.ENTER_IT.test(following) && hasPurpose(following)))) ||
    (direct && phrases.COUNTED.test(sentence)) ||
    (direct && phrases.PRESENTED.test(sentence) && phrases.ENDS_LINE.test(after) && isAboutAccess()) ||
    (isToEnter(setting) && (phrases.PLACE.test(sentence + after) || isAboutAccess()))
  );
}

/** @returns points from 0 to about 105, more for a likelier code; {@link SOMETHING_ELSE} for another kind of number */
export function judge(setting: Setting, mail: MailFacts): number {
  const refused = refusal(setting);
  if (refused !== undefined) return refused;
  const announced = pointsOfSigns(setting) ?? pointsOfSubject(setting) ?? pointsBefore(setting);
  const { shape, value } = setting.candidate;
  if (shape !== 'digits' && shape !== 'mixed') return judgeLooseShape(setting, announced ?? 0);
  const points = announced ?? pointsAfter(setting) ?? (isHinted(setting, mail) ? 60 : 0);
  return points > 0 && value.length === 6 ? points + 5 : points;
}

/** Scores the shapes `year`, `loose` and `words`. Ordinary text has them too, so they need more points. */
function judgeLooseShape({ candidate, alone, direct, before }: Setting, announced: number): number {
  const sure =
    candidate.shape === 'words'
      ? alone && phrases.DIRECT.test(before) && announced >= SURE_IN_SENTENCE
      : announced >= SURE_ENOUGH && (direct || announced >= SURE_IN_SENTENCE);
  return sure ? announced - 5 : Math.min(announced, 0);
}
