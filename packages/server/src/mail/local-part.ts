import { randomBytes } from 'node:crypto';
import { adjectives, nouns } from 'human-id';

/** Words that may be offensive or misleading next to others. */
const UNFIT: ReadonlySet<string> = new Set([
  ...['chubby', 'curvy', 'dirty', 'hot', 'petite', 'puny', 'slimy', 'wet', 'wicked', 'young', 'fat', 'dull'],
  ...['brown', 'yellow', 'red', 'khaki', 'dark', 'cute', 'hip', 'itchy', 'loose', 'small', 'legal', 'hungry'],
  ...['aliens', 'apes', 'baboons', 'beers', 'bras', 'cows', 'donkeys', 'drinks', 'hairs', 'heads', 'humans'],
  ...['kids', 'lies', 'monkeys', 'pants', 'parents', 'pigs', 'rats', 'adults', 'guests', 'eyes', 'ears'],
  ...['feet', 'hands', 'toes', 'teeth', 'taxes', 'snakes', 'worms', 'ghosts', 'melons', 'buns', 'nails'],
  ...['peaches', 'bananas', 'coons', 'ends', 'colts', 'cobras'],
]);

const fitting = (words: readonly string[]) =>
  words.filter((word) => /^[a-z]+$/.test(word) && !UNFIT.has(word));

export const ADJECTIVES: readonly string[] = fitting(adjectives);
export const NOUNS: readonly string[] = fitting(nouns);

/** Nine digits carry 29.9 bits; with the words, an address has at least 40. */
export const LOCAL_PART_DIGITS = 9;

/** 64 bits more than are used, so that the modulo bias is negligible. */
export const LOCAL_PART_RANDOM_BYTES = 16;

/** A random local part such as `calm.otter482910357`. @param random from a secure source; set by tests only */
export function newLocalPart(random: Uint8Array = randomBytes(LOCAL_PART_RANDOM_BYTES)): string {
  let rest = BigInt(`0x${Buffer.from(random).toString('hex')}`);
  const draw = (choices: number): number => {
    const drawn = Number(rest % BigInt(choices));
    rest /= BigInt(choices);
    return drawn;
  };
  const adjective = ADJECTIVES[draw(ADJECTIVES.length)] ?? '';
  const noun = NOUNS[draw(NOUNS.length)] ?? '';
  return `${adjective}.${noun}${String(draw(10 ** LOCAL_PART_DIGITS)).padStart(LOCAL_PART_DIGITS, '0')}`;
}
