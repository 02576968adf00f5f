import WORD_RULES from './code-words.json' with { type: 'json' };

/**
 * What a word says about the number near it. `code-words.json` has the words by effect, reason and language (ISO
 * 639-1); a pattern matches a whole word in lower case.
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
export type WordKind = (typeof EFFECTS)[number] | 'plain';

/** The first that a word has counts; "m" and "is" are rarely units, so `unit` comes last. */
const EFFECTS = ['promo', 'cart', 'other', 'label', 'stale', 'number', 'code', 'enter', 'unit'] as const;

const PATTERNS = EFFECTS.map((effect) => {
  const rules = WORD_RULES.filter((rule) => rule.effect === effect);
  const sources = rules.flatMap((rule) => Object.values(rule.words));
  return [effect, new RegExp(`^(?:${sources.join('|')})$`, 'u')] as const;
});

const known = new Map<string, WordKind>();
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
