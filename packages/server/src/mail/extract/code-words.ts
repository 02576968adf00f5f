import WORD_RULES from './code-words.json' with { type: 'json' };

/*
 * `code-words.json` lists words by effect, meaning (the reason for the effect) and language (ISO 639-1). A pattern is
 * compared with a whole word in lower case; a stem with `\p{L}*` takes the endings of its language.
 */

/**
 * What a word says about the number near it:
 * - `promo`: the sentence is advertising, and its code is the same for every recipient;
 * - `cart`: the same for a code with letters; a number at a checkout may authorise a payment;
 * - `other`: the number is something else, also with a code word next to this word ("order code");
 * - `label`: the number after it is something else, but "SMS code" and "the code on this page" are codes;
 * - `stale`: the code is an earlier one;
 * - `number`: "number" and its translations: next to a code word they name a code, otherwise something else;
 * - `code`: the number is a one-time code;
 * - `enter`: the number is to be typed, if the sentence says what for;
 * - `unit`: the number before it is a quantity.
 */
type Effect = 'promo' | 'cart' | 'other' | 'label' | 'stale' | 'number' | 'code' | 'enter' | 'unit';

export type WordKind = Effect | 'plain';

/** In order of precedence where a word has several effects; "m" and "is" are rarely units, so `unit` comes last. */
const EFFECTS: Effect[] = ['promo', 'cart', 'other', 'label', 'stale', 'number', 'code', 'enter', 'unit'];

const PATTERNS: readonly (readonly [Effect, RegExp])[] = EFFECTS.map((effect) => {
  const sources = WORD_RULES.filter((rule) => rule.effect === effect).flatMap((rule) =>
    Object.values(rule.words),
  );
  return [effect, new RegExp(`^(?:${sources.join('|')})$`, 'u')];
});

const known = new Map<string, WordKind>();
/** Words whose kind is cached; the number of different words in mail is unlimited. */
const MAX_KNOWN = 20_000;

export function kindOfWord(text: string): WordKind {
  let kind = known.get(text);
  if (kind === undefined) {
    const word = text.toLowerCase();
    kind = PATTERNS.find(([, pattern]) => pattern.test(word))?.[0] ?? 'plain';
    if (known.size < MAX_KNOWN && text.length < 40) known.set(text, kind);
  }
  return kind;
}
