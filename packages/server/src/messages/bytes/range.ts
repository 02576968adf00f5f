/** Positions of the first and the last byte, both included. */
export interface ByteRange {
  first: number;
  last: number;
}

const SINGLE = /^bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))$/i;

/**
 * Reads a Range header (RFC 9110 section 14.2). What is not one range of bytes, several ranges too, is
 * ignored, as the RFC allows: the whole is a correct response to any request.
 * @param size of the whole, bytes
 */
export function byteRange(header: string | undefined, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  const [matched, from, to, suffix] = SINGLE.exec(header?.trim() ?? '') ?? [];
  if (matched === undefined) return 'whole';
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size);
    return length === 0 ? 'unsatisfiable' : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  if (to !== undefined && to !== '' && Number(to) < first) return 'whole';
  if (first >= size) return 'unsatisfiable';
  return { first, last: to ? Math.min(Number(to), size - 1) : size - 1 };
}
