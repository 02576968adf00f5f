import { isIPv4, isIPv6 } from 'node:net';

/** RFC 5321 section 4.5.3.1.2. */
const MAX_LENGTH = 255;
/** RFC 1035 section 2.3.4, counted in letters. */
const MAX_LABEL_LETTERS = 63;
/** RFC 5321 section 4.1.2, with underscores, which names of containers have, and other scripts (RFC 6531). */
const LABEL = /^[\p{L}\p{N}_](?:[\p{L}\p{N}\p{M}_-]*[\p{L}\p{N}\p{M}_])?$/u;
const LITERAL = /^\[(?:(IPv6):)?([^\]]*)\]$/i;

/**
 * Whether a client may name itself so (RFC 5321 sections 4.1.1.1, 4.1.2 and 4.1.3): a host name, which need
 * not have a dot and may end with one, or the literal of an IP address. The tag `IPv6:` may be missing.
 */
export function isHelloName(name: string): boolean {
  if (name === '' || name.length > MAX_LENGTH) return false;
  if (name.startsWith('[')) {
    const [, tag, address = ''] = LITERAL.exec(name) ?? [];
    return (tag === undefined && isIPv4(address)) || (!address.includes('%') && isIPv6(address));
  }
  const labels = name.replace(/\.$/, '').split('.');
  return labels.every((label) => label.length <= MAX_LABEL_LETTERS && LABEL.test(label));
}
