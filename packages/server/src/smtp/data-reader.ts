import { REPLIES, type Reply } from './replies.ts';

/** What happens to a CR or LF that is not part of a CRLF: the message is refused, or each becomes a CRLF. */
export type BareLineEndings = 'refuse' | 'normalise';

export interface DataLimits {
  /** Bytes that the message may have, dots unstuffed and line endings normalised. */
  maxBytes: number;
  /** Bytes of a refused message after which its end is not waited for: twice `maxBytes` or more. */
  maxDrainedBytes: number;
}

/** Whatever else some servers take for an end is how mail is smuggled (CVE-2023-51764 to -51766). */
const END = '\r\n.\r\n';
/** What may become a part of END or of a CRLF when more comes. */
const UNDECIDED = /(?:(?<=\n)\.)?\r?$/;
const BARE = /\r(?!\n)|(?<!\r)\n/;
const BARE_OR_STUFFED = /\r(?!\n)|(?<!\r)\n|\n\./;
/** A dot to drop; after a bare LF one of two only, because a sender that stuffs dots doubles a lone one. */
const STUFFED = /(\r\n)\.|((?<!\r)\n)\.(?=\.)/g;

/**
 * Reads the message between DATA and its end (RFC 5321 sections 4.1.1.4 and 4.5.2) in pieces. The verdict and the
 * output do not depend on how they were cut. A refused message is read on to its end, so that the session stays in step.
 */
export class DataReader {
  /** What the last {@link read} output; it may be a view into the input. */
  output: Buffer | undefined;
  refusal: Reply | undefined;
  bytesRead = 0;
  ended = false;
  /** A refused message was so long that its end is not waited for. */
  outOfStep = false;
  readonly #limits: DataLimits;
  readonly #normalises: boolean;
  /** The undecided bytes of the last read, and the line ending before them: '' in the middle of a line. */
  #undecided = '';
  #lineEnd: string;
  #length = 0;

  /** @param afterCrlf whether the DATA command ended with CRLF; otherwise no lone dot ends an empty message */
  constructor(limits: DataLimits, policy: BareLineEndings, afterCrlf = true) {
    this.#limits = limits;
    this.#normalises = policy === 'normalise';
    this.#lineEnd = afterCrlf ? '\r\n' : '\n';
  }

  /** Reads until the end of the message or of the input. @returns where the first byte is that was not read */
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

  /** @param lines with the line ending before them @param input where they are, but for undecided bytes before it */
  #keep(lines: string, input: Buffer): Buffer | undefined {
    const isPlain = this.#undecided === '' && !BARE_OR_STUFFED.test(lines);
    const kept = isPlain ? lines : lines.replace(STUFFED, '$1$2');
    const message = kept.slice(this.#lineEnd.length);
    const left = this.#limits.maxBytes - this.#length;
    // Only what the limit lets in is judged, and a CR by the byte after it, so that no cut changes the verdict.
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
