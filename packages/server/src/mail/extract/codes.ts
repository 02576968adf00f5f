import type { MailCode } from '../mail.ts';
import { foldBlanks, INVISIBLE } from '../mime/clean.ts';
import { type Candidate, candidatesOf } from './code-candidates.ts';
import {
  BARE_CODE_SIGN,
  BOOKING,
  CODE_SIGNS,
  DIRECT,
  kindOfWord,
  ONE_TIME,
  ONE_TIME_SIGNS,
  OTHER_SIGNS,
  SALUTATION,
  type WordKind,
} from './code-words.ts';
import { PURPOSES } from './link-words.ts';

/** A code stands near the top; what lies further down is a footer or a long letter, characters. */
const MAX_READ = 32 * 1024;
/** More would be a list, and a list is no answer. */
const MAX_CODES = 5;
/** Words around a code that are shown with it, characters on each side. */
const CONTEXT_SIDE = 40;
/** How far the word "code" may be away, characters and words. */
const REACH = 240;
const REACH_WORDS = 14;
const REACH_WORDS_OF_LINE = 40;
const REACH_WORDS_LOOSE = 3;
const REACH_WORDS_OTHER = 4;
const REACH_WORDS_AFTER = 9;
const REACH_WORDS_ENTER = 3;
/** Below it we are unsure, and say nothing. */
const SURE = 45;

/** The zeros of scripts whose digits are in use in mails; each is followed by its nine others. */
const ZEROS =
  '\u0660\u06f0\u0966\u09e6\u0a66\u0ae6\u0b66\u0be6\u0c66\u0ce6\u0d66\u0e50\u0ed0\u1040\u17e0\uff10';
const FOREIGN_DIGIT = [...ZEROS]
  .map((zero) => `${zero}-${String.fromCharCode(zero.charCodeAt(0) + 9)}`)
  .join('');
/** What no person would type as it stands: also the marks that make a key of a digit (4\ufe0f\u20e3). */
const NOT_TYPED = new RegExp(`[${FOREIGN_DIGIT}${INVISIBLE}\\ufe00-\\ufe0f\\u20e3]`, 'g');
const LINK = /(?:https?:\/\/|www\.)\S+/gi;
const WORD = /[\p{L}\p{M}\p{N}]+|№|#|©/gu;
const SENTENCE_END = /[.!?](?=\s)|[。！？।۔]|\n\s*\n/g;
const MONTH =
  /(?:jan|feb|m[aä]r|apr|ma[iy]|jun|jul|aug|sep|o[ck]t|nov|de[cz])\p{L}*\.?,?\s*(?:\d{1,2},?\s*)?$/iu;

/** True when nothing else stands on its line: the way mails show a code large. */
function isAlone(text: string, start: number, end: number): boolean {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1;
  const lineEnd = text.indexOf('\n', end);
  const line = text.slice(lineStart, start) + text.slice(end, lineEnd < 0 ? text.length : lineEnd);
  return !/[\p{L}\p{N}]/u.test(line);
}

const wordsOf = (text: string): string[] => text.match(WORD) ?? [];
const kindsOf = (words: readonly string[]) => words.map(kindOfWord);
const isCode = (kind: WordKind | undefined) => kind === 'code';
const isOther = (kind: WordKind | undefined) => kind === 'other' || kind === 'promo';
/** "Enter 4821", "geben Sie bitte 4821 ein", "enter the number": what the words lead to is to be typed. */
const isEntered = (words: readonly string[]) =>
  words.slice(-REACH_WORDS_ENTER).some((word) => kindOfWord(word) === 'enter');

/** "Customer" is no word of its own number where the customer is spoken to. */
function kindAt(words: readonly string[], at: number): WordKind {
  const kind = kindOfWord(words[at] ?? '');
  return kind === 'other' && SALUTATION.test(words[at - 1] ?? '') ? 'plain' : kind;
}

/**
 * What the words before a candidate make of it: the nearest telling word counts. Points, or undefined
 * where they say nothing, or -1 for "something else".
 */
function pointsBefore(words: readonly string[], alone: boolean, direct: boolean): number | undefined {
  // A code in a line of its own is announced further up; within a sentence it follows at once, or behind a colon.
  const reach = alone ? REACH_WORDS_OF_LINE : direct ? REACH_WORDS : REACH_WORDS_LOOSE;
  let skipOther = 0;
  for (let distance = 1; distance <= Math.min(reach, words.length); distance++) {
    const at = words.length - distance;
    const word = words[at] ?? '';
    const beside = kindAt(words, at - 1);
    // The words before another number spoke of that number.
    if (/\d/.test(word)) skipOther = 3;
    else if (skipOther > 0) skipOther--;
    const kind = word === '©' ? 'other' : kindAt(words, at);
    const other = isOther(kind) || (kind === 'number' && !isCode(beside) && !isEntered(words.slice(0, at)));
    if (other && skipOther === 0 && distance <= (alone ? 3 : REACH_WORDS_OTHER)) return -1;
    if (isCode(kind) && skipOther < 3) {
      if (isOther(beside) || isOther(kindOfWord(nextNoun(words, at)))) return -1;
      return 100 - (alone ? distance : 3 * distance);
    }
  }
  return undefined;
}

/** The word behind a code word, across the "of" of Romance languages: "código de barras". */
function nextNoun(words: readonly string[], at: number): string {
  const next = words[at + 1] ?? '';
  return (/^(?:de|di|da|do|del|des)$/i.test(next) ? words[at + 2] : next) ?? '';
}

/** @param kinds those of the words behind a candidate, to the end of its sentence */
function pointsAfter(kinds: readonly WordKind[]): number | undefined {
  for (const [i, kind] of kinds.slice(0, REACH_WORDS_AFTER).entries()) {
    if (isOther(kind)) return undefined;
    if (isCode(kind)) return isOther(kinds[i + 1]) ? undefined : 90 - 3 * i;
  }
  return undefined;
}

/** For scripts without blanks: which sign is nearest, before or (for a code) behind. */
function pointsOfSigns(before: string, after: string): number | undefined {
  const last = (pattern: RegExp) => [...before.matchAll(pattern)].at(-1);
  const lastCode = last(CODE_SIGNS);
  const lastOther = last(OTHER_SIGNS);
  const code = lastCode?.index ?? -1;
  const other = lastOther?.index ?? -1;
  // "Coupon code" in one: the bare word goes with what it is attached to.
  const attached = other >= 0 && before.slice(other + (lastOther?.[0].length ?? 0), code).trim() === '';
  if (attached && other < code && BARE_CODE_SIGN.test(lastCode?.[0] ?? '')) return -1;
  if (code >= 0 && code >= other - 3) return 95 - (before.length - code) / 4;
  if (other >= 0 && before.length - other < 20) return -1;
  const behind = after.search(CODE_SIGNS);
  return behind >= 0 && behind < 40 ? 80 - behind / 2 : undefined;
}

/** No word for "code" at all, but a number to enter, in a sentence that says what it proves. */
function saysToEnter(before: readonly string[], after: readonly WordKind[], sentence: string): boolean {
  if (!isEntered(before) && after[0] !== 'enter' && after[1] !== 'enter') return false;
  return PURPOSES.some((purpose) => purpose.test(sentence));
}

function lastSentence(text: string): string {
  let start = 0;
  for (const end of text.matchAll(SENTENCE_END)) start = end.index + end[0].length;
  return text.slice(start);
}

function firstSentence(text: string): string {
  const end = text.search(SENTENCE_END);
  return end < 0 ? text : text.slice(0, end);
}

function score(text: string, candidate: Candidate, subjectSaysCode: boolean): number {
  const { start, end, shape } = candidate;
  const alone = isAlone(text, start, end);
  const wide = text.slice(Math.max(0, start - REACH), start);
  const sentence = lastSentence(wide);
  const before = alone ? wide : sentence;
  const following = text.slice(end, end + REACH / 2);
  const after = firstSentence(following);
  const sentenceWords = wordsOf(sentence);
  const kindsAfter = kindsOf(wordsOf(after));
  if (kindsAfter.includes('promo') || kindsOf(sentenceWords).includes('promo')) return -1;
  const unit = /^\s?(\p{L}+)/u.exec(after)?.[1];
  if (shape === 'digits' && unit !== undefined && kindOfWord(unit) === 'unit') return 0;
  if (shape === 'year' && MONTH.test(before)) return 0;
  const signs = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]/.test(
    before + after,
  );
  let points = signs ? pointsOfSigns(before, after) : undefined;
  const direct = alone || DIRECT.test(before);
  points ??= pointsBefore(alone ? wordsOf(wide) : sentenceWords, alone, direct);
  if (shape === 'words') {
    // Chains of words are everywhere: only one that is announced, in a line of its own.
    const announced = alone && DIRECT.test(before) && points !== undefined && points >= 97;
    return announced ? (points ?? 0) - 5 : Math.min(points ?? 0, 0);
  }
  if (shape === 'year' || shape === 'loose') {
    const sure = points !== undefined && points >= 85 && (direct || points >= 97);
    return sure ? (points ?? 0) - 5 : Math.min(points ?? 0, 0);
  }
  points ??= pointsAfter(kindsAfter);
  if (points === undefined && saysToEnter(sentenceWords, kindsAfter, sentence + after)) points = 60;
  if (points === undefined && isEntered(sentenceWords) && saysCode(following)) points = 60;
  if (points === undefined && alone && subjectSaysCode) points = 60;
  if (points === undefined || points < 0) return points ?? 0;
  return points + (candidate.value.length === 6 ? 5 : 0);
}

function contextOf(text: string, { start, end }: Candidate): string {
  const from = Math.max(0, start - CONTEXT_SIDE);
  return foldBlanks(text.slice(from, end + CONTEXT_SIDE))
    .trim()
    .replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, '');
}

/** As a person would type it: ASCII digits for those of other scripts, and nothing that nobody sees. */
function asTyped(text: string): string {
  return text.replace(NOT_TYPED, (character) => {
    for (const zero of ZEROS) {
      const digit = character.charCodeAt(0) - zero.charCodeAt(0);
      if (digit >= 0 && digit <= 9) return String(digit);
    }
    return '';
  });
}

function saysCode(text: string): boolean {
  const kinds = kindsOf(wordsOf(text));
  return (
    text.search(CODE_SIGNS) >= 0 ||
    kinds.some((kind, i) => isCode(kind) && !isOther(kinds[i - 1]) && !isOther(kinds[i + 1]))
  );
}

/** Of the same length, so that places stay the same. */
const oneWord = (words: string): string => 'onetime'.padEnd(words.length);

interface Found {
  code: MailCode;
  /** Below 0: the words say that this is something else. */
  score: number;
}

/** The candidates of one text, but for those of which it says nothing. */
function read(given: string, subjectSaysCode: boolean, isOffer: boolean): Found[] {
  const text = asTyped(given.slice(0, MAX_READ));
  if (!/\d|[A-Z]{3}|-[a-z]{3,12}-/.test(text)) return [];
  // Links are blanked letter for letter, so that places stay the same.
  const unlinked = text.replace(LINK, (link) => ' '.repeat(link.length));
  const candidates = candidatesOf(unlinked);
  if (candidates.length === 0) return [];
  const readable = unlinked.replace(ONE_TIME, oneWord).replace(ONE_TIME_SIGNS, oneWord);
  let noLetters: boolean | undefined;
  const found: Found[] = [];
  for (const candidate of candidates) {
    if (/[A-Z]/i.test(candidate.value)) {
      noLetters ??= isOffer || BOOKING.test(readable);
      if (noLetters) continue;
    }
    const points = score(readable, candidate, subjectSaysCode);
    if (points >= 0 && points < SURE) continue;
    // Of what is something else no words are shown.
    const context = points < 0 ? '' : contextOf(text, candidate);
    found.push({ code: { value: candidate.value, context }, score: points });
  }
  return found;
}

/**
 * One-time codes, best first; none where we are unsure. The value is what a person would type: groups
 * of digits joined (`482 910` and `482-910` are `482910`), the hyphens of mixed codes kept (`G-482910`).
 * The page is read only where subject and text hold no code.
 * @param words the visible words of the page, or null
 */
export function findCodes(subject: string, text: string | null, words: string | null): MailCode[] {
  const says = saysCode(asTyped(subject));
  // "15% off": its code is a coupon.
  const isOffer = /\d\s?%/.test(subject);
  const inSubject = read(subject, says, isOffer);
  let inBody = text === null ? [] : read(text, says, isOffer);
  if (words !== null && !inBody.some(({ score }) => score > 0)) inBody = read(words, says, isOffer);
  const best = new Map<string, Found>();
  for (const one of [...inBody, ...inSubject]) {
    const before = best.get(one.code.value);
    if (before === undefined) best.set(one.code.value, { ...one });
    // Called something else once, it is that. Called a code twice, it is one with more weight.
    else if (before.score < 0 || one.score < 0) before.score = -1;
    else before.score = Math.max(before.score, one.score) + 15;
  }
  return [...best.values()]
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_CODES)
    .map(({ code }) => code);
}
