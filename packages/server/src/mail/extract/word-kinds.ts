import { type Effect, WORD_RULES } from './code-words.ts';

export type WordKind = Effect | 'plain';

/** In the order in which they count; "m" and "is" stand in sentences far more often than behind a number. */
const EFFECTS: Effect[] = ['promo', 'cart', 'other', 'label', 'stale', 'number', 'code', 'enter', 'unit'];

/** One pattern an effect, from all its rows. */
const PATTERNS: readonly (readonly [Effect, RegExp])[] = EFFECTS.map((effect) => {
  const sources = WORD_RULES.filter((rule) => rule.effect === effect).flatMap((rule) =>
    Object.values(rule.words).map(({ source }) => source),
  );
  return [effect, new RegExp(`^(?:${sources.join('|')})$`, 'u')];
});

const known = new Map<string, WordKind>();
/** Words whose kind is cached; the number of different words in mail is unlimited. */
const MAX_KNOWN = 20_000;

/** What a word says about a number beside it. */
export function kindOfWord(text: string): WordKind {
  let kind = known.get(text);
  if (kind === undefined) {
    const word = text.toLowerCase();
    kind = PATTERNS.find(([, pattern]) => pattern.test(word))?.[0] ?? 'plain';
    if (known.size < MAX_KNOWN && text.length < 40) known.set(text, kind);
  }
  return kind;
}
