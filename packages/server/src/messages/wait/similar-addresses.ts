/** A slip of the finger or two; more is another word. */
const MAX_SLIPS = 2;
/** In a short name a second slip makes another word, too. */
const SHORT = 6;

interface Parts {
  local: string;
  domain: string;
}

function parts(address: string): Parts {
  const at = address.lastIndexOf('@');
  return { local: address.slice(0, at), domain: address.slice(at + 1) };
}

const withoutSeparators = (text: string): string => text.replaceAll(/[._+=-]/g, '');
const digitsOf = (text: string): string => text.replaceAll(/\D/g, '');
const lettersOf = (text: string): string => withoutSeparators(text).replaceAll(/\d/g, '');

/** True when `part` is `whole` with some characters left out. */
function isLeftOver(part: string, whole: string): boolean {
  let at = 0;
  for (const letter of whole) if (letter === part.charAt(at)) at++;
  return at === part.length;
}

/**
 * How many letters were mistyped, missed, added or swapped with their neighbour (the restricted
 * Damerau-Levenshtein distance); anything above `most` is answered as `most + 1`.
 */
function slips(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1];
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row.push(
        Math.min(
          (last[j] ?? 0) + 1,
          (row[j - 1] ?? 0) + 1,
          (last[j - 1] ?? 0) + (same ? 0 : 1),
          swapped ? (beforeLast[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    if (Math.min(...row) > most) return most + 1;
    beforeLast = last;
    last = row;
  }
  return Math.min(last[b.length] ?? 0, most + 1);
}

/** True for `name` and `name-anything`: a tag behind a sign that is no plus. */
const isTagged = (name: string, tagged: string): boolean =>
  tagged.startsWith(name) && /^[._+=-]./.test(tagged.slice(name.length));

function areLocalPartsAlike(a: string, b: string): boolean {
  if (withoutSeparators(a) === withoutSeparators(b)) return true;
  if (isTagged(a, b) || isTagged(b, a)) return true;
  if (lettersOf(a) === lettersOf(b) && lettersOf(a) !== '') {
    const [digits, others] = [digitsOf(a), digitsOf(b)];
    if (isLeftOver(digits, others) || isLeftOver(others, digits)) return true;
  }
  const most = Math.min(a.length, b.length) < SHORT ? 1 : MAX_SLIPS;
  return slips(a, b, most) <= most;
}

/** The same for two domains: they differ by a slip or two. @param a as `b` in lower case */
export function areDomainsAlike(a: string, b: string): boolean {
  return a !== b && slips(a, b, MAX_SLIPS) <= MAX_SLIPS;
}

/**
 * Could the one have been meant where the other was written? Two different addresses with the same
 * local part on two domains, or on one domain with local parts that differ by a slip or two, by dots
 * and dashes, by missing digits, or by a tag.
 * @param a as {@link b} in lower case, without a plus-tag
 */
export function areAlike(a: string, b: string): boolean {
  if (a === b) return false;
  const [one, other] = [parts(a), parts(b)];
  if (one.domain !== other.domain) return one.local === other.local;
  return areLocalPartsAlike(one.local, other.local);
}
