import { SMTPStream } from './library.ts';
import type { SmtpLimits } from './limits.ts';
import { REPLIES, type Reply } from './replies.ts';
import { hasProxySignature } from './transport/proxy-v2.ts';

const LF = 0x0a;
const PROXY_LINE = Buffer.from('PROXY UNKNOWN\r\n');

/** The connection whose lines these are. */
interface Speaker {
  reply(reply: Reply): void;
  close(): void;
  /** The longest line that may come now. @param beginning what there is of it */
  maxLineBytes(beginning: string): number;
  /** Replies to a line that is too long. */
  lineTooLong(): void;
}

/** Reads command lines; one that is too long is refused and skipped, and the session goes on. */
export class CommandStream extends SMTPStream {
  readonly #speaker: Speaker;
  readonly #maxSkipped: number;
  /** Bytes of the present line that were thrown away; 0 when it is not being skipped. */
  #skipped = 0;
  #begun = false;

  constructor(speaker: Speaker, limits: Pick<SmtpLimits, 'maxSkippedLineBytes'>) {
    // A complete line is judged by the command guard, an incomplete one here.
    super({ maxCommandLength: Number.MAX_SAFE_INTEGER });
    this.#speaker = speaker;
    this.#maxSkipped = limits.maxSkippedLineBytes;
  }

  override _write(
    piece: Buffer,
    encoding: BufferEncoding | 'buffer',
    next: (error?: Error | null) => void,
  ): void {
    if (this._dataMode || this.isClosed) {
      super._write(piece, encoding, next);
      return;
    }
    // From who may not say it, version 2 of the PROXY protocol is answered as version 1 is.
    const words = !this.#begun && hasProxySignature(piece) ? PROXY_LINE : piece;
    this.#begun = true;
    const line = this.#skipped > 0 ? this.#skipLine(words) : words;
    super._write(line, encoding, (error) => {
      // Anything longer is the beginning of a line too long: its end is not here yet.
      if (!this._dataMode && this._remainder.length > this.#speaker.maxLineBytes(this._remainder)) {
        this.#skipped = this._remainder.length;
        this._remainder = '';
        this.#speaker.lineTooLong();
      }
      next(error);
    });
  }

  /** RFC 5321 section 2.3.8: a line without its end is no command. All replies are given: say goodbye. */
  override _flushData(): void {
    this._remainder = '';
    this.#speaker.close();
  }

  #skipLine(piece: Buffer): Buffer {
    const end = piece.indexOf(LF);
    if (end >= 0) {
      this.#skipped = 0;
      return piece.subarray(end + 1);
    }
    this.#skipped += piece.length;
    if (this.#skipped > this.#maxSkipped) this.#speaker.reply(REPLIES.endlessLine);
    return piece.subarray(piece.length);
  }
}
