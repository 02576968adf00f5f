import type { MessagePort } from 'node:worker_threads';
import type { ParsedMail } from '../../mail/mail.ts';
import { freeIfLarge } from '../../memory.ts';
import { type BatchResult, DONE, type JobBatch, QUEUED, STARTED } from './protocol.ts';

/** The two things that a parse worker does. */
export interface MailReader {
  parse(raw: Uint8Array): ParsedMail;
  /** May return a view of `raw`. */
  attachment(raw: Uint8Array, id: string): Uint8Array | undefined;
}

/** A result before it lies among the others: JSON text, or bytes. */
type Piece = string | Uint8Array;

function lengthOf(piece: Piece): number {
  return typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;
}

function runBatch(batch: JobBatch, reader: MailReader): BatchResult {
  const pieces: Piece[] = [];
  const lengths: number[] = [];
  const errors: (string | null)[] = [];
  let total = 0;
  const add = (piece: Piece): void => {
    const length = lengthOf(piece);
    pieces.push(piece);
    lengths.push(length);
    total += length;
  };
  for (const [index, raw] of batch.raws.entries()) {
    const id = batch.attachmentIds[index] ?? null;
    let error: string | null = null;
    if (Atomics.compareExchange(batch.states, index, QUEUED, STARTED) !== QUEUED) {
      lengths.push(-1, 0);
    } else if (id === null) {
      const mail = reader.parse(raw);
      error = mail.parseError;
      add(JSON.stringify(mail.summary));
      add(JSON.stringify(mail.content));
      Atomics.store(batch.states, index, DONE);
    } else {
      const bytes = reader.attachment(raw, id);
      if (bytes === undefined) lengths.push(-1);
      else add(bytes);
      lengths.push(0);
      Atomics.store(batch.states, index, DONE);
    }
    errors.push(error);
  }
  const bytes = Buffer.allocUnsafeSlow(total);
  let at = 0;
  for (const piece of pieces) {
    if (typeof piece === 'string') at += bytes.write(piece, at);
    else {
      bytes.set(piece, at);
      at += piece.length;
      freeIfLarge(piece);
    }
  }
  for (const raw of batch.raws) freeIfLarge(raw);
  return { bytes, lengths, errors };
}

/** Answers every {@link JobBatch} of `port` with one {@link BatchResult}, one batch after the other. */
export function serve(port: MessagePort, reader: MailReader): void {
  port.on('message', (batch: JobBatch) => {
    // An error ends the thread, and the pool finds out which mail it was.
    const result = runBatch(batch, reader);
    port.postMessage(result, [result.bytes.buffer]);
  });
}
