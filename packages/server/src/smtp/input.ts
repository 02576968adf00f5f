import type { SmtpLimits } from './limits.ts';
import { REPLIES, type Reply } from './replies.ts';

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

/** What to do with a CR or LF outside of a CRLF: reject the message, or replace it by CRLF. */
export type BareLineEndings = 'refuse' | 'normalise';

export interface DataLimits {
  /** Size limit of the message, after removing stuffed dots and normalising line endings. */
  maxBytes: number;
  /** Bytes of a rejected message after which the connection is closed; at least twice `maxBytes`. */
  maxDrainedBytes: number;
}

/** Accepting any other end of data enables SMTP smuggling (CVE-2023-51764 to -51766). */
const END = '\r\n.\r\n';
/** A suffix that may become a part of END or of a CRLF with the next bytes. */
const UNDECIDED = /(?:(?<=\n)\.)?\r?$/;
const BARE = /\r(?!\n)|(?<!\r)\n/;
const BARE_OR_STUFFED = /\r(?!\n)|(?<!\r)\n|\n\./;
/** Stuffed dots. After a bare LF only one of two dots: a client that stuffs would have doubled a single one. */
const STUFFED = /(\r\n)\.|((?<!\r)\n)\.(?=\.)/g;

/** Parses the message after DATA (RFC 5321 sections 4.1.1.4 and 4.5.2), received in pieces of any size. */
export class DataReader {
  /** Output of the last {@link read}; may be a view of the input. */
  output: Buffer | undefined;
  refusal: Reply | undefined;
  bytesRead = 0;
  ended = false;
  /** A rejected message exceeded `maxDrainedBytes`: the connection must be closed. */
  outOfStep = false;
  readonly #limits: DataLimits;
  readonly #normalises: boolean;
  /** Unprocessed bytes of the last read, and the line ending before them ('' within a line). */
  #undecided = '';
  #lineEnd: string;
  #length = 0;

  /** @param afterCrlf whether the DATA command ended with CRLF; otherwise a lone dot is no end of data */
  constructor(limits: DataLimits, policy: BareLineEndings, afterCrlf = true) {
    this.#limits = limits;
    this.#normalises = policy === 'normalise';
    this.#lineEnd = afterCrlf ? '\r\n' : '\n';
  }

  /** Reads until the end of the message or the input. @returns index of the first unread byte */
  read(input: Buffer, at: number): number {
    const text = `${this.#lineEnd}${this.#undecided}${input.toString('latin1', at)}`;
    const end = text.indexOf(END);
    const [undecided = ''] = (end < 0 && UNDECIDED.exec(text.slice(-3))) || [];
    const lines = text.slice(0, end < 0 ? text.length - undecided.length : end + 2);
    const next = end < 0 ? input.length : input.length - text.length + end + END.length;
    this.output = this.refusal ? undefined : this.#keep(lines, input.subarray(at));
    this.ended = end >= 0;
    this.#undecided = undecided;
    this.#lineEnd = /\r?\n$/.exec(lines.slice(-2))?.[0] ?? '';
    const before = this.bytesRead;
    this.bytesRead += next - at;
    const excess = this.refusal ? this.bytesRead - this.#limits.maxDrainedBytes : 0;
    if (excess <= 0) return next;
    this.ended = false;
    this.outOfStep = true;
    this.bytesRead = Math.max(before, this.#limits.maxDrainedBytes);
    return next - excess;
  }

  /** @param lines complete lines and the line ending before them @param input contains them, except undecided bytes of earlier reads */
  #keep(lines: string, input: Buffer): Buffer | undefined {
    const isPlain = this.#undecided === '' && !BARE_OR_STUFFED.test(lines);
    const kept = isPlain ? lines : lines.replace(STUFFED, '$1$2');
    const message = kept.slice(this.#lineEnd.length);
    const left = this.#limits.maxBytes - this.#length;
    // Ignores bytes beyond the size limit; a CR counts at its next byte. So the result does not depend on how the input is cut into reads.
    const bare = isPlain || this.#normalises ? -1 : message.search(BARE);
    if (bare >= 0 && (message[bare] === '\r' ? bare + 1 : bare) < left) {
      this.refusal = REPLIES.bareLineEnding;
      return undefined;
    }
    const output = isPlain || !this.#normalises ? message : message.replace(/\r\n|\r|\n/g, '\r\n');
    this.#length += output.length;
    if (output.length > left) this.refusal = REPLIES.messageTooLarge;
    if (this.refusal || output === '') return undefined;
    return isPlain ? input.subarray(0, output.length) : Buffer.from(output, 'latin1');
  }
}
