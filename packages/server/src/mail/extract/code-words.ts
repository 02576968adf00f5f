import WORD_RULES from './code-words.json' with { type: 'json' };

/**
 * What a word says about the number near it. `code-words.json` lists patterns of lower-case words for each
 * kind below (there called `effect`), with the reason and the language (ISO 639-1):
 * - `promo`: the sentence is advertising, and its code is the same for every recipient;
 * - `cart`: the sentence is about a shopping cart. Its codes are coupons, but a number may be for a payment;
 * - `other`: the number is not a code, even if a `code` word is next to this word ("order code");
 * - `label`: the number after this word is not a code ("page 4821"), except near a `code` word ("SMS code");
 * - `stale`: the code is no longer valid ("your previous code");
 * - `number`: a word for "number", which means a code only next to a `code` word;
 * - `code`: the number is a one-time code;
 * - `enter`: tells the reader to type a number, which is a code if the mail is also about access;
 * - `unit`: the number before this word is a quantity ("4821 km").
 */
export type WordKind = (typeof EFFECTS)[number] | 'plain';

/** A word gets the first of these kinds whose patterns match. */
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
