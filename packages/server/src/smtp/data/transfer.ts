import type { Readable } from 'node:stream';
import type { ByteBudget, Share } from '../../inbound/in-flight/byte-budget.ts';
import { MailBuffer } from '../../inbound/in-flight/mail-buffer.ts';
import { REPLIES, type Reply } from '../replies.ts';
import { BareLineEndingScan, LineEndingNormaliser } from './line-endings.ts';

export type BareLineEndings = 'refuse' | 'normalise';

export interface TransferOptions {
  /** Bytes the mail may have. */
  limit: number;
  /** Bytes that may come in all before a refused mail's connection is closed. */
  drainLimit: number;
  bareLineEndings: BareLineEndings;
  budget: ByteBudget;
}

/**
 * How the bytes after DATA ended; they are good until the transfer is released. `inStep` is false when the
 * end of the data was not waited for.
 */
export type TransferEnd = { bytes: Uint8Array } | { refused: Reply; inStep: boolean } | { interrupted: true };

/**
 * The bytes between DATA and its end: gathers them under the size limit and the common budget, and
 * watches for bare line endings. A mail that is refused already is read on and thrown away, so that
 * the session stays in step.
 */
export class Transfer {
  /** Bytes that came, dots unstuffed; kept or not. */
  bytesReceived = 0;
  readonly #stream: Readable;
  readonly #options: TransferOptions;
  readonly #onEnd: (end: TransferEnd) => void;
  readonly #buffer: MailBuffer;
  readonly #share: Share;
  readonly #scan = new BareLineEndingScan();
  readonly #normaliser: LineEndingNormaliser | undefined;
  #refusal: Reply | undefined;
  #waitingPiece: Uint8Array | undefined;
  #streamEnded = false;
  #done = false;

  /** @param onEnd called once */
  constructor(stream: Readable, options: TransferOptions, onEnd: (end: TransferEnd) => void) {
    this.#stream = stream;
    this.#options = options;
    this.#onEnd = onEnd;
    this.#buffer = new MailBuffer(options.limit);
    this.#share = options.budget.open(() => this.#resume());
    if (options.bareLineEndings === 'normalise') this.#normaliser = new LineEndingNormaliser();
    stream.on('data', (piece: Buffer) => this.#onData(piece));
    stream.on('end', () => this.#onStreamEnd());
    stream.on('close', () => this.#finish({ interrupted: true }));
    // The 'close' that follows says all that matters.
    stream.on('error', () => undefined);
  }

  /** True while the sender is kept waiting by us. */
  get paused(): boolean {
    return this.#waitingPiece !== undefined;
  }

  /** True while bytes are expected. */
  get receiving(): boolean {
    return !this.#done;
  }

  /** Gives the mail's memory and its share of the budget back; after the commit. */
  release(): void {
    this.#buffer.clear();
    this.#share.close();
  }

  #onData(piece: Buffer): void {
    this.bytesReceived += piece.length;
    if (this.#refusal) this.#drain(this.#refusal);
    else if (this.#normaliser) this.#keep(this.#normaliser.push(piece));
    // Only what the limit lets in is judged, so that the verdict does not hang on how TCP cut.
    else if (this.#scan.push(piece.subarray(0, this.#room))) this.#refuse(REPLIES.bareLineEnding);
    else this.#keep(piece);
  }

  get #room(): number {
    return this.#options.limit - this.#buffer.length;
  }

  #keep(piece: Uint8Array): void {
    if (piece.length > this.#room) this.#refuse(REPLIES.messageTooLarge);
    else if (this.#share.take(piece.length)) this.#buffer.append(piece);
    else {
      this.#waitingPiece = piece;
      this.#stream.pause();
    }
  }

  #resume(): void {
    const piece = this.#waitingPiece;
    this.#waitingPiece = undefined;
    if (piece) this.#buffer.append(piece);
    if (this.#streamEnded) this.#complete();
    else this.#stream.resume();
  }

  #refuse(reply: Reply): void {
    this.#refusal = reply;
    this.#buffer.clear();
    this.#share.close();
    this.#drain(reply);
  }

  #drain(reply: Reply): void {
    if (this.bytesReceived > this.#options.drainLimit) this.#finish({ refused: reply, inStep: false });
  }

  #onStreamEnd(): void {
    this.#streamEnded = true;
    // A stream may end while its last piece still waits for the budget.
    if (!this.paused) this.#complete();
  }

  #complete(): void {
    if (this.#refusal) this.#finish({ refused: this.#refusal, inStep: true });
    else this.#finish({ bytes: this.#buffer.finish() });
  }

  #finish(end: TransferEnd): void {
    if (this.#done) return;
    if ('interrupted' in end) {
      // A mail that came whole is not interrupted by what happens to its connection.
      if (this.#streamEnded) return;
      this.#share.close();
    }
    this.#done = true;
    this.#onEnd(end);
  }
}
