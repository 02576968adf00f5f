import WORD_RULES from './code-words.json' with { type: 'json' };

/**
 * What a word says about the number near it. `code-words.json` lists patterns of whole words in lower case,
 * by effect, reason and language (ISO 639-1):
 * - `promo`: the sentence is advertising, and its code is the same for every recipient;
 * - `cart`: like `promo`, but only if the code has letters. A number may authorise a payment;
 * - `other`: the number is not a code, even if a code word is next to this word ("order code");
 * - `label`: the number after it is not a code, except in "SMS code" or "the code on this page";
 * - `stale`: the code is from an earlier mail;
 * - `number`: a word for "number", which means a code only next to a code word;
 * - `code`: the number is a one-time code;
 * - `enter`: the reader must enter the number, if the sentence gives a purpose;
 * - `unit`: the number before it is a quantity.
 */
export type WordKind = (typeof EFFECTS)[number] | 'plain';

/** The first effect that matches a word counts. "m" and "is" are rarely units, so `unit` comes last. */
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
