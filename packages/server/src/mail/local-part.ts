import { randomBytes } from 'node:crypto';
import { adjectives, nouns } from 'human-id';

/**
 * Words of the lists that may be offensive or misleading next to another word:
 * words for bodies, for drinks, and for people.
 */
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

/** The words that random local parts are made of. */
export const ADJECTIVES: readonly string[] = fitting(adjectives);
export const NOUNS: readonly string[] = fitting(nouns);

/** Digits behind the words: nine of them carry 29.9 bits, the words bring the rest of the 40 promised. */
export const LOCAL_PART_DIGITS = 9;

/** Bytes of chance for one local part: 64 bits more than are used, so that their bias cannot be seen. */
export const LOCAL_PART_RANDOM_BYTES = 16;

/**
 * A friendly random local part such as `calm.otter482910357`; one of
 * `ADJECTIVES × NOUNS × 10^LOCAL_PART_DIGITS`, each about equally likely.
 * @param random {@link LOCAL_PART_RANDOM_BYTES} bytes from a secure source, given by tests
 */
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
