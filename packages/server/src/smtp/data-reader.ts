import { REPLIES, type Reply } from './replies.ts';

/*
 * The bytes between DATA and its end (RFC 5321 sections 4.1.1.4 and 4.5.2). Only CRLF.CRLF ends them: whatever
 * else some servers take for an end is how mail is smuggled (CVE-2023-51764 to -51766).
 */

/** What happens to a CR or LF that is not part of a CRLF: the message is refused, or each becomes a CRLF. */
export type BareLineEndings = 'refuse' | 'normalise';

/** Where the last byte left us. A CR is output when it comes; a dot that may be the end is held back. */
const TEXT = 0;
const AFTER_CR = 1;
const LINE_START = 2;
/** CRLF and a dot, which is held back. */
const DOT = 3;
/** CRLF, a dot and a CR, both held back. */
const DOT_CR = 4;
/** After a bare LF: the start of a line only for a sender that ends all its lines so. */
const BARE_LINE_START = 5;
/** A bare LF and a dot, which is held back. */
const BARE_DOT = 6;
const END = 7;
type State = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7;

/** What one byte does in one state. */
interface Step {
  /** Bytes to output before it: those held back, or one that makes a CRLF of a bare line ending. */
  before: string;
  /** Whether the byte itself is output. */
  kept: boolean;
  next: State;
  /** True where it shows a bare CR or LF. */
  bare: boolean;
}

const keep = (next: State, before = ''): Step => ({ before, kept: true, next, bare: false });
const hold = (next: State): Step => ({ before: '', kept: false, next, bare: false });
const bare = (next: State, before: string): Step => ({ before, kept: true, next, bare: true });

/** By state and kind of byte: CR, LF, dot, any other. */
const STEPS: readonly Step[] = [
  /* TEXT */ [keep(AFTER_CR), bare(BARE_LINE_START, '\r'), keep(TEXT), keep(TEXT)],
  /* AFTER_CR */ [bare(AFTER_CR, '\n'), keep(LINE_START), bare(TEXT, '\n'), bare(TEXT, '\n')],
  /* LINE_START */ [keep(AFTER_CR), bare(BARE_LINE_START, '\r'), hold(DOT), keep(TEXT)],
  // The first dot of a line is dropped unless it is the only one on it (RFC 5321 section 4.5.2).
  /* DOT */ [hold(DOT_CR), bare(BARE_LINE_START, '\r'), keep(TEXT), keep(TEXT)],
  /* DOT_CR */ [bare(AFTER_CR, '\r\n'), hold(END), bare(TEXT, '\r\n'), bare(TEXT, '\r\n')],
  /* BARE_LINE_START */ [keep(AFTER_CR), bare(BARE_LINE_START, '\r'), hold(BARE_DOT), keep(TEXT)],
  // Nothing but CRLF.CRLF is an end, so a lone dot here is text; a sender that stuffs dots doubles it.
  /* BARE_DOT */ [keep(AFTER_CR, '.'), bare(BARE_LINE_START, '.\r'), keep(TEXT), keep(TEXT, '.')],
].flat();

const CR = 0x0d;
const LF = 0x0a;
const OTHER = 3;
/** The kind of each byte. */
const KINDS = new Uint8Array(256).fill(OTHER);
for (const [kind, byte] of [CR, LF, 0x2e].entries()) KINDS[byte] = kind;
const stepOf = (state: State, byte = 0): Step => STEPS[state * 4 + (KINDS[byte] ?? OTHER)] ?? hold(END);

/** What is examined byte by byte: a bare CR, a bare LF, a dot at the start of a line. */
const SPECIAL = /\r[^\n]|(?<!\r)\n|\n\./g;
/** Where a piece is shorter than this, or the last special place less far behind, bytes are examined one by one. */
const SEARCH_FROM_BYTES = 12;
/** What may precede the end, for text that is thrown away. */
const LINE_WITH_DOT = Buffer.from('\r\n.');

export interface DataLimits {
  /** Bytes that the message may have, dots unstuffed and line endings normalised. */
  maxBytes: number;
  /** Bytes read, all in all, before a refused message's sender is not listened to any longer. */
  maxDrainedBytes: number;
}

/**
 * Reads one message in pieces. The verdict and the output depend only on the bytes, not on how they were cut.
 * A refused message is read on to its end and thrown away, so that the session stays in step.
 */
export class DataReader {
  /** What the last {@link read} output: a view into its input, or where bytes had to be added a new buffer. */
  output: Buffer | undefined;
  /** Why the message is refused; undefined while it is not. */
  refusal: Reply | undefined;
  /** Bytes read, as they came. */
  bytesRead = 0;
  /** True when a refused message was so long that its end is not waited for. */
  outOfStep = false;
  readonly #limits: DataLimits;
  readonly #normalises: boolean;
  #state: State;
  /** Bytes output by all earlier reads. */
  #length = 0;
  /** The output of the present read: where it is gathered, from where to where. */
  #target: Buffer = EMPTY;
  #from = 0;
  #to = 0;

  /** @param afterCrlf whether the DATA command ended with CRLF, as it must for a lone dot to end the message */
  constructor(limits: DataLimits, policy: BareLineEndings, afterCrlf = true) {
    this.#limits = limits;
    this.#normalises = policy === 'normalise';
    this.#state = afterCrlf ? LINE_START : BARE_LINE_START;
  }

  /** True when the end of the message was read. */
  get ended(): boolean {
    return this.#state === END;
  }

  /**
   * Reads on until the end of the message or of the input.
   * @param input is changed: what is output moves together in it
   * @param at where to begin
   * @returns where the first byte is that was not read
   */
  read(input: Buffer, at: number): number {
    this.output = undefined;
    this.#target = input;
    this.#from = at;
    this.#to = at;
    let read = this.refusal ? at : this.#keep(input, at);
    if (this.refusal) read = this.#drain(input, at, read);
    else if (this.#to > this.#from) {
      this.#length += this.#to - this.#from;
      this.output = this.#target.subarray(this.#from, this.#to);
    }
    this.#target = EMPTY;
    this.bytesRead += read - at;
    return read;
  }

  /** Outputs what is to be kept. @returns where it stopped: the end of the message, of the input, or a refusal */
  #keep(input: Buffer, start: number): number {
    let text = '';
    let at = start;
    while (at < input.length && this.#state !== END && !this.refusal) {
      if (this.#state !== TEXT || input.length - at < SEARCH_FROM_BYTES) {
        at = this.#keepSingly(input, at);
        continue;
      }
      if (text === '') text = input.toString('latin1', start);
      SPECIAL.lastIndex = at - start;
      const found = SPECIAL.exec(text);
      const clean = found ? start + found.index : input.length;
      const until = Math.min(clean, at + this.#bytesLeft);
      // Before anything moves.
      this.#state = stateAfterText(input, at, until);
      this.#putRange(input, at, until);
      at = until;
      if (at < clean) this.#refuse(REPLIES.messageTooLarge);
      else if (found) at = this.#keepSingly(input, at);
    }
    return at;
  }

  /** Examines each byte, until {@link SEARCH_FROM_BYTES} in a row were text. @returns as {@link #keep} */
  #keepSingly(input: Buffer, start: number): number {
    let textFrom = start;
    let at = start;
    while (at < input.length && at - textFrom < SEARCH_FROM_BYTES) {
      if (!this.#keepByte(input, at)) return at;
      at++;
      if (this.#state === END) return at;
      if (this.#state !== TEXT) textFrom = at;
    }
    return at;
  }

  /** @returns false when the message is refused at this byte */
  #keepByte(input: Buffer, at: number): boolean {
    const byte = input[at] ?? 0;
    const step = stepOf(this.#state, byte);
    if (step.bare && !this.#normalises) {
      this.#refuseBare();
      return false;
    }
    if (step.before !== '') this.#insert(step.before, at, input);
    if (step.kept) this.#put(byte);
    if (this.refusal) return false;
    this.#state = step.next;
    return true;
  }

  get #bytesLeft(): number {
    return this.#limits.maxBytes - this.#length - (this.#to - this.#from);
  }

  #put(byte: number): void {
    if (this.#bytesLeft < 1) this.#refuse(REPLIES.messageTooLarge);
    else this.#target[this.#to++] = byte;
  }

  /** Only what the limit lets in is judged, so that the verdict does not depend on where TCP cut. */
  #refuseBare(): void {
    const heldBack = this.#state === DOT_CR ? 1 : 0;
    this.#refuse(this.#bytesLeft - heldBack < 1 ? REPLIES.messageTooLarge : REPLIES.bareLineEnding);
  }

  #putRange(input: Buffer, at: number, end: number): void {
    if (this.#target !== input) input.copy(this.#target, this.#to, at, end);
    else if (this.#to < at) input.copyWithin(this.#to, at, end);
    this.#to += end - at;
  }

  /** Outputs bytes that are not at this place of the input. */
  #insert(bytes: string, at: number, input: Buffer): void {
    if (this.#target === input) {
      // At most two bytes are added for each that is still to come.
      const grown = Buffer.allocUnsafe(this.#to - this.#from + 3 * (input.length - at));
      input.copy(grown, 0, this.#from, this.#to);
      this.#target = grown;
      this.#to -= this.#from;
      this.#from = 0;
    }
    for (let i = 0; i < bytes.length; i++) this.#put(bytes.charCodeAt(i));
  }

  #refuse(reply: Reply): void {
    this.refusal ??= reply;
  }

  /** Reads on without output. @param start where this read began; @param from from where on to read */
  #drain(input: Buffer, start: number, from: number): number {
    const end = Math.min(input.length, start + this.#limits.maxDrainedBytes - this.bytesRead);
    let at = from;
    while (at < end && this.#state !== END) {
      if (this.#state !== TEXT) {
        this.#state = stepOf(this.#state, input[at]).next;
        at++;
        continue;
      }
      const found = input.indexOf(LINE_WITH_DOT, at);
      const dot = found < 0 ? end : found + LINE_WITH_DOT.length;
      this.#state = found < 0 || dot > end ? stateAfterText(input, at, end) : DOT;
      at = Math.min(dot, end);
    }
    this.outOfStep = this.#state !== END && at >= end && end < input.length;
    return Math.max(at, from);
  }
}

const EMPTY = Buffer.alloc(0);

/** The state after text that begins in the state TEXT, up to `end`, and has no other special place than its end. */
function stateAfterText(input: Buffer, start: number, end: number): State {
  if (end <= start) return TEXT;
  const last = input[end - 1];
  if (last === CR) return AFTER_CR;
  return last === LF && end - 2 >= start && input[end - 2] === CR ? LINE_START : TEXT;
}
