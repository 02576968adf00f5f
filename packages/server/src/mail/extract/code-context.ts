import type { Candidate } from './code-candidates.ts';
import { BARE_CODE_SIGN, CODE_SIGNS, DIRECT, KEY, OTHER_SIGNS, SALUTATION, VERB } from './code-phrases.ts';
import { kindOfWord, type WordKind } from './code-words.ts';

/*
 * Scores the words around a candidate from 0 to about 100, for code-rules.ts. The words before it that say what it is,
 * such as "your code:", are its announcement.
 */

/** Largest distance between a code word and a candidate: in characters, and for each case in words. */
const REACH = 240;
const REACH_WORDS = 14;
const REACH_WORDS_OF_LINE = 40;
const REACH_WORDS_LOOSE = 3;
const REACH_WORDS_OTHER = 4;
const REACH_WORDS_OTHER_OF_LINE = 3;
const REACH_WORDS_AFTER = 9;
const REACH_WORDS_ENTER = 3;
const REACH_WORDS_KEY = 4;
const WORDS_TO_SUBJECT = 5;
const REACH_WORDS_OBJECT = 5;

/** Number of words before another number, including it, that may label that number instead of the candidate. */
const SKIPPED_BEFORE_NUMBER = 3;

export const SOMETHING_ELSE = -1;

const LONG_NUMBER = /^\d{4,}$/;
const WORD = /[\p{L}\p{M}\p{N}]+|№|#(?!>)|©/gu;
const SENTENCE_END = /[.!?](?=\s)|[。！？।۔]|\n\s*\n|(?<=[:：][ \t]?[\w-]{0,30}\d{4}[\w-]{0,30})[ \t]*\n/g;
const SIGNS = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]/;

export interface Setting {
  candidate: Candidate;
  alone: boolean;
  /** Only a colon or "is" stands between the announcement and the code. */
  direct: boolean;
  wide: string;
  /** The part of `wide` in the same sentence; all of it for a code on its own line. */
  before: string;
  after: string;
  following: string;
  sentence: string;
  sentenceWords: readonly string[];
  kindsBefore: readonly WordKind[];
  wordsAfter: readonly string[];
  kindsAfter: readonly WordKind[];
}

export function settingOf(text: string, candidate: Candidate): Setting {
  const { start, end } = candidate;
  const alone = isAlone(text, start, end);
  const wide = text.slice(Math.max(0, start - REACH), start);
  const sentence = lastSentence(alone ? wide.trimEnd() : wide);
  const before = alone ? wide : sentence;
  const following = text.slice(end, end + REACH / 2);
  const after = firstSentence(following);
  const sentenceWords = wordsOf(sentence);
  const wordsAfter = wordsOf(after);
  return {
    candidate,
    alone,
    direct: alone || DIRECT.test(before),
    wide,
    before,
    after,
    following,
    sentence,
    sentenceWords,
    kindsBefore: kindsOf(sentenceWords),
    wordsAfter,
    kindsAfter: kindsOf(wordsAfter),
  };
}

function isAlone(text: string, start: number, end: number): boolean {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const lineEnd = text.indexOf('\n', end);
  const line = text.slice(lineStart, start) + text.slice(end, lineEnd < 0 ? text.length : lineEnd);
  return !/[\p{L}\p{N}]/u.test(line);
}

export const wordsOf = (text: string): string[] => text.match(WORD) ?? [];
export const kindsOf = (words: readonly string[]): WordKind[] => words.map(kindOfWord);
const isCode = (kind: WordKind | undefined) => kind === 'code';
const isOther = (kind: WordKind | undefined) => kind === 'other' || kind === 'promo';

function lastSentence(text: string): string {
  let start = 0;
  for (const end of text.matchAll(SENTENCE_END)) start = end.index + end[0].length;
  return text.slice(start);
}

function firstSentence(text: string): string {
  const end = text.search(SENTENCE_END);
  return end < 0 ? text : text.slice(0, end);
}

export function saysCode(text: string): boolean {
  const kinds = kindsOf(wordsOf(text));
  return (
    text.search(CODE_SIGNS) >= 0 ||
    kinds.some((kind, i) => isCode(kind) && !isOther(kinds[i - 1]) && !isOther(kinds[i + 1]))
  );
}

/** "Enter 4821", "geben Sie bitte 4821 ein", "enter the number". */
export const isEntered = (words: readonly string[]): boolean =>
  words.slice(-REACH_WORDS_ENTER).some((word) => kindOfWord(word) === 'enter');

/** "Enter the code shown on this page": the object of "enter" is the code. */
function entersCode(kinds: readonly WordKind[]): boolean {
  const at = kinds.lastIndexOf('enter');
  if (at < 0) return false;
  const object = kinds.slice(at + 1, at + 1 + REACH_WORDS_OBJECT);
  return object.find((kind) => isCode(kind) || isOther(kind) || kind === 'number') === 'code';
}

/** "Dear customer" addresses a person, so "customer" does not label a number. */
function kindAt(words: readonly string[], at: number): WordKind {
  const word = words[at] ?? '';
  if (word === '©') return 'other';
  const kind = kindOfWord(word);
  return kind === 'other' && SALUTATION.test(words[at - 1] ?? '') ? 'plain' : kind;
}

/** The word after a code word, skipping the "of" of Romance languages: "código de barras". */
function nextNoun(words: readonly string[], at: number): string {
  const next = words[at + 1] ?? '';
  return (/^(?:de|di|da|do|del|des)$/i.test(next) ? words[at + 2] : next) ?? '';
}

function reachesOf({ alone, direct, wide }: Setting, entered: boolean): { code: number; other: number } {
  // A code on its own line is announced further up; within a sentence, directly before it or by a colon.
  if (alone) {
    // A sentence that has ended does not label the number.
    const isLabelled = !entered && !/[.!?。！？]\s*$/.test(wide);
    return { code: REACH_WORDS_OF_LINE, other: isLabelled ? REACH_WORDS_OTHER_OF_LINE : 0 };
  }
  if (entered) return { code: REACH_WORDS, other: direct ? 0 : 1 };
  return { code: direct ? REACH_WORDS : REACH_WORDS_LOOSE, other: REACH_WORDS_OTHER };
}

export function pointsBefore(setting: Setting): number | undefined {
  const words = setting.alone ? wordsOf(setting.wide) : setting.sentenceWords;
  const reach = reachesOf(setting, entersCode(setting.kindsBefore));
  const costOfWord = setting.alone ? 1 : 3;
  let skipped = 0;
  for (let distance = 1; distance <= Math.min(reach.code, words.length); distance++) {
    const at = words.length - distance;
    skipped = wordsToSkip(words[at] ?? '', skipped);
    if (skipped === 0 && distance <= reach.other && namesOther(words, at)) return SOMETHING_ELSE;
    const isNamed = isCode(kindAt(words, at)) || (distance <= REACH_WORDS_KEY && isKey(setting, words[at]));
    if (skipped < SKIPPED_BEFORE_NUMBER && isNamed) {
      return isCodeOfOther(words, at) ? SOMETHING_ELSE : 100 - distance * costOfWord;
    }
  }
  return undefined;
}

/** "Sign-in key: K7QX-2M9P"; a "key" of digits alone may be anything. */
const isKey = ({ candidate, direct }: Setting, word = ''): boolean =>
  direct && candidate.shape === 'mixed' && KEY.test(word);

const wordsToSkip = (word: string, left: number): number =>
  /\d/.test(word) ? SKIPPED_BEFORE_NUMBER : Math.max(0, left - 1);

/** "Discount code", "code of the building". */
const isCodeOfOther = (words: readonly string[], at: number): boolean =>
  isOther(kindAt(words, at - 1)) || isOther(kindOfWord(nextNoun(words, at)));

function namesOther(words: readonly string[], at: number): boolean {
  const kind = kindAt(words, at);
  if (isOther(kind)) return true;
  if (kind !== 'label' && kind !== 'number') return false;
  // "Kod SMS", "code from the SMS"
  if (isCode(kindAt(words, at - 1)) || (kind === 'label' && isCode(kindAt(words, at - 2)))) return false;
  // Near the verb "enter", a label or "number" does not name another number: "on the page, enter", "the number to enter".
  return !isEntered(words.slice(at + 1)) && !isEntered(words.slice(0, at));
}

/** "One-time password for the payment of EUR 120.00 at a shop with your card is 482913." */
export function pointsOfSubject({ alone, sentence, sentenceWords }: Setting): number | undefined {
  if (alone || !VERB.test(sentence)) return undefined;
  const at = sentenceWords.slice(0, WORDS_TO_SUBJECT).findIndex((_, i) => isCode(kindAt(sentenceWords, i)));
  if (at < 0 || isCodeOfOther(sentenceWords, at)) return undefined;
  const last = kindAt(sentenceWords, sentenceWords.length - 2);
  // In "... of 59.90 EUR is 482913", the word before the verb is the unit of an amount, and says nothing about 482913.
  const hasNumber = /\d/.test(sentenceWords.at(-3) ?? '');
  const isOwn = hasNumber || (!isOther(last) && last !== 'number' && last !== 'label');
  return isOwn ? 85 : undefined;
}

export function pointsAfter({ kindsAfter, wordsAfter }: Setting): number | undefined {
  for (const [i, kind] of kindsAfter.slice(0, REACH_WORDS_AFTER).entries()) {
    if (isOther(kind) || LONG_NUMBER.test(wordsAfter[i] ?? '')) return undefined;
    if (isCode(kind)) return isOther(kindOfWord(nextNoun(wordsAfter, i))) ? undefined : 90 - 3 * i;
  }
  return undefined;
}

/** For scripts without spaces: counts the nearest sign before the candidate, or a code sign after it. */
export function pointsOfSigns({ before, after }: Setting): number | undefined {
  if (!SIGNS.test(before + after)) return undefined;
  const last = (pattern: RegExp) => [...before.matchAll(pattern)].at(-1);
  const lastCode = last(CODE_SIGNS);
  const lastOther = last(OTHER_SIGNS);
  const code = lastCode?.index ?? -1;
  const other = lastOther?.index ?? -1;
  // "Coupon code" without anything between the two words.
  const attached = other >= 0 && before.slice(other + (lastOther?.[0].length ?? 0), code).trim() === '';
  if (attached && other < code && BARE_CODE_SIGN.test(lastCode?.[0] ?? '')) return SOMETHING_ELSE;
  if (code >= 0 && code >= other - 3) return 95 - (before.length - code) / 4;
  if (other >= 0 && before.length - other < 20) return SOMETHING_ELSE;
  const behind = after.search(CODE_SIGNS);
  return behind >= 0 && behind < 40 ? 80 - behind / 2 : undefined;
}
