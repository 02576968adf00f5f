/** Positions of the first and the last byte, both included. */
export interface ByteRange {
  first: number;
  last: number;
}

const SINGLE = /^bytes=(?:(\d{1,15})-(\d{0,15})|-(\d{1,15}))$/i;

/** RFC 9110 section 14.2. Anything but one range of bytes is ignored, as the RFC allows. @param size of the whole */
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
