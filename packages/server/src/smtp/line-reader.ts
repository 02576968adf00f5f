import type { SmtpLimits } from './limits.ts';

/** RFC 4954 section 4: the longest line of AUTH, in octets. */
const MAX_AUTH_LINE_BYTES = 12_288;
const CR = 0x0d;
const LF = 0x0a;

/** `too-long`: the line is skipped. `endless`: the skipped part is so long that the connection must be closed. */
export type LineResult = 'line' | 'too-long' | 'endless' | 'incomplete';

/** Finds command lines in a stream, in bounded memory. */
export class LineReader {
  /** The last line, without its line ending. */
  line: Buffer = Buffer.alloc(0);
  /** Whether the last line ended with CRLF, not with a bare LF. */
  crlf = true;
  isAuth = false;
  /** Index of the first unread byte. An incomplete line is unread. */
  end = 0;
  readonly #limits: Pick<SmtpLimits, 'maxCommandBytes' | 'maxSkippedLineBytes'>;
  #skipped = 0;

  constructor(limits: Pick<SmtpLimits, 'maxCommandBytes' | 'maxSkippedLineBytes'>) {
    this.#limits = limits;
  }

  /** @param input all unread bytes, with an incomplete line @param isAnswer whether the line responds to an AUTH challenge */
  read(input: Buffer, at: number, isAnswer: boolean): LineResult {
    const { maxCommandBytes, maxSkippedLineBytes } = this.#limits;
    let start = at;
    if (this.#skipped > 0) {
      this.#skip(input, at);
      if (this.#skipped > 0) return this.#skipped > maxSkippedLineBytes ? 'endless' : 'incomplete';
      start = this.end;
    }
    const lf = input.indexOf(LF, start);
    const end = lf < 0 ? input.length : lf;
    this.isAuth = isAnswer || isAuthCommand(input, start);
    this.crlf = end > start && input[end - 1] === CR;
    this.line = input.subarray(start, this.crlf ? end - 1 : end);
    if (this.line.length > (this.isAuth ? MAX_AUTH_LINE_BYTES : maxCommandBytes)) {
      this.#skip(input, start);
      return 'too-long';
    }
    this.end = lf < 0 ? start : lf + 1;
    return lf < 0 ? 'incomplete' : 'line';
  }

  /** Afterwards `#skipped` is 0 if the line has ended within the limit. */
  #skip(input: Buffer, at: number): void {
    const lf = input.indexOf(LF, at);
    const end = lf < 0 ? input.length : lf;
    this.#skipped += end - at;
    this.end = lf < 0 ? end : lf + 1;
    if (lf >= 0 && this.#skipped <= this.#limits.maxSkippedLineBytes) this.#skipped = 0;
  }
}

const isAuthCommand = (input: Buffer, at: number): boolean =>
  ((input[at] ?? 0) | 0x20) === 0x61 && /^auth /i.test(input.toString('latin1', at, at + 5));
