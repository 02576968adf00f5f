const CR = 0x0d;
const LF = 0x0a;

/**
 * - `line`: a whole line, which is in {@link LineReader.line}
 * - `too-long`: a line past its limit, reported once, as soon as it is known; the rest of it is skipped
 * - `skipped`: the rest of such a line, or a piece of it
 * - `endless`: so much of a line was skipped that the connection has to end
 * - `incomplete`: no whole line is left in the input
 */
export type LineResult = 'line' | 'too-long' | 'skipped' | 'endless' | 'incomplete';

/**
 * Cuts command lines out of bytes that come in pieces, in bounded memory: a line past its limit is skipped,
 * whether its end is there or not. The results depend only on the bytes, not on how they were cut.
 */
export class LineReader {
  /** The last line, without its line end. */
  line: Buffer = Buffer.alloc(0);
  /** Whether that line ended with CRLF; otherwise it ended with a bare LF. */
  crlf = true;
  /** Where the first byte is that was not read; an incomplete line is not read. */
  end = 0;
  readonly #maxSkippedBytes: number;
  #skipping = false;
  /** Bytes of the present line that were thrown away. */
  #skipped = 0;
  /** Bytes at the beginning of an incomplete line that were searched for its end. */
  #searched = 0;

  /** @param maxSkippedBytes bytes that a line may have, its LF not counted, before it is `endless` */
  constructor(maxSkippedBytes: number) {
    this.#maxSkippedBytes = maxSkippedBytes;
  }

  /**
   * @param input after `incomplete`, the same bytes from {@link end} on and what came since
   * @param at where to begin
   * @param maxBytes the longest line that is not skipped, without its line end
   */
  read(input: Buffer, at: number, maxBytes: number): LineResult {
    if (this.#skipped > this.#maxSkippedBytes) return 'endless';
    const lf = input.indexOf(LF, at + this.#searched);
    const end = lf < 0 ? input.length : lf;
    this.#searched = 0;
    if (this.#skipping) {
      if (at === input.length) return 'incomplete';
      return this.#skip(at, end, lf);
    }
    const endsInCr = end > at && input[end - 1] === CR;
    const bytes = end - at - (endsInCr ? 1 : 0);
    if (bytes > maxBytes) {
      this.#skip(at, end, lf);
      return 'too-long';
    }
    if (lf < 0) {
      this.end = at;
      this.#searched = end - at;
      return 'incomplete';
    }
    this.end = lf + 1;
    this.crlf = endsInCr;
    this.line = input.subarray(at, at + bytes);
    return 'line';
  }

  #skip(at: number, end: number, lf: number): LineResult {
    this.#skipped += end - at;
    this.#skipping = lf < 0;
    this.end = lf < 0 ? end : lf + 1;
    if (this.#skipped > this.#maxSkippedBytes) return 'endless';
    if (!this.#skipping) this.#skipped = 0;
    return 'skipped';
  }
}
