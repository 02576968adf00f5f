import { createHash } from 'node:crypto';

/**
 * The weak validator of an answer that a version and a request line determine (RFC 9110 section 8.8.3).
 * @param version as it was before the answer was looked up: a change meanwhile only makes it fall short
 */
export function versionTag(version: number, url: string): string {
  return `W/"${version}-${createHash('sha256').update(url).digest('base64url').slice(0, 16)}"`;
}

/** The strong validator of something that never changes. */
export const immutableTag = (name: string): string => `"${name}"`;

const opaque = (tag: string): string => tag.trim().replace(/^W\//, '');

/** True when If-None-Match names that validator, compared weakly (RFC 9110 section 13.1.2). */
export function isFresh(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((one) => opaque(one) === opaque(tag));
}
