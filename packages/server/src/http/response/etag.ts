/** The strong validator of something that never changes. */
export const immutableTag = (name: string): string => `"${name}"`;

const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');

/** True when If-None-Match names that validator, compared weakly (RFC 9110 section 13.1.2). */
export function isFresh(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((one) => opaque(one) === opaque(tag));
}
