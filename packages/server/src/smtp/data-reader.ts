import { REPLIES, type Reply } from './replies.ts';

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
