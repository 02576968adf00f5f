import { randomBytes, randomInt } from 'node:crypto';
import { adjectives, nouns } from 'human-id';

/** Words that may be offensive or misleading when combined with others. */
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

/** Nine random digits have 29.9 bits of entropy. With two random words, an address has at least 40 bits. */
export const LOCAL_PART_DIGITS = 9;

/** 128 bits, at least 64 more than a local part uses, so that the modulo bias is negligible. */
export const LOCAL_PART_RANDOM_BYTES = 16;

/** A random local part such as `calm.otter482910357`. @param random must be cryptographically secure */
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

/** Area codes of large US cities. With the exchange 555, they have about 400,000 numbers in total. */
export const AREA_CODES = [
  ...['202', '206', '212', '213', '214', '215', '216', '303', '305', '312', '313', '314', '317', '402'],
  ...['404', '408', '410', '412', '414', '415', '501', '502', '503', '504', '505', '512', '515', '602'],
  ...['612', '614', '615', '617', '702', '713', '801', '804', '808', '816', '901', '916'],
] as const;

/** Numbers after 555 that are in service, such as directory assistance. They are not given to inboxes. */
const ASSIGNED: ReadonlySet<string> = new Set(['1212', '4334']);

export function newPhoneLocalPart(): string {
  for (;;) {
    const line = String(randomInt(10_000)).padStart(4, '0');
    if (!ASSIGNED.has(line)) return `1${AREA_CODES[randomInt(AREA_CODES.length)]}555${line}`;
  }
}

export const phoneNumberOf = (localPart: string): string | null =>
  /^[1-9]\d{6,14}$/.test(localPart) ? `+${localPart}` : null;
