import type { MessagePort } from 'node:worker_threads';
import { messageOf } from '../../errors.ts';
import type { FullJson } from '../../mail/full-json.ts';
import type { ParsedMail } from '../../mail/mail.ts';
import type { TransferEncoding } from '../../mail/mime/transfer-encoding.ts';
import { contentJson } from '../../mail/stored-content.ts';
import { freeIfLarge } from '../../memory.ts';
import {
  type BatchResult,
  DONE,
  type JobBatch,
  MAX_RESULT_BYTES,
  type Operation,
  QUEUED,
  STARTED,
  type Task,
} from './protocol.ts';

/** The operations of a parse worker. Results may be views of the input. */
export interface MailReader {
  parse(raw: Uint8Array): ParsedMail;
  decode(bytes: Uint8Array, encoding: TransferEncoding): Uint8Array;
  /** Findings as JSON text. */
  lint(raw: Uint8Array): string;
  /** The page of a preview, and JSON text of its description. */
  preview(raw: Uint8Array, imagesUrl: string): { page: string; about: string };
  /** The list of attachments as JSON text. */
  attachments(raw: Uint8Array): string;
  /** The message in full as UTF-8 JSON, in pieces. */
  fullJson(raw: Uint8Array, about: FullJson): readonly Uint8Array[];
  jsonLines(document: Uint8Array, array: string): string;
}

type Piece = string | Uint8Array;

type Result = [first: Piece | readonly Uint8Array[] | undefined, second?: Piece, error?: string | null];

class Results {
  private readonly pieces: Piece[] = [];
  private readonly lengths: number[] = [];
  private readonly errors: (string | null)[] = [];
  private total = 0;

  /** Adds the result of a job. @param first undefined without a result @returns the bytes of both parts */
  add(...[first, second = '', error = null]: Result): number {
    const before = this.total;
    this.errors.push(error);
    const pieces = isPiece(first) ? [first] : first;
    this.lengths.push(pieces?.reduce((sum, piece) => sum + this.keep(piece), 0) ?? -1, this.keep(second));
    return this.total - before;
  }

  finish(id: number): BatchResult {
    const bytes = Buffer.allocUnsafeSlow(this.total);
    let at = 0;
    for (const piece of this.pieces) {
      if (typeof piece === 'string') at += bytes.write(piece, at);
      else {
        bytes.set(piece, at);
        at += piece.length;
        freeIfLarge(piece);
      }
    }
    return { id, bytes, lengths: this.lengths, errors: this.errors };
  }

  private keep(piece: Piece): number {
    const length = typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;
    this.pieces.push(piece);
    this.total += length;
    return length;
  }
}

const isPiece = (result: Result[0]): result is Piece =>
  typeof result === 'string' || result instanceof Uint8Array;

const operationOf = (task: Task): Operation =>
  typeof task === 'string' ? task : (Object.keys(task)[0] as Operation);

function run(input: Uint8Array, task: Task, reader: MailReader): Result {
  if (task === 'parse') {
    const mail = reader.parse(input);
    const summary = JSON.stringify(mail.summary);
    return [summary, contentJson(mail, input.length, Buffer.byteLength(summary)), mail.parseError];
  }
  if (task === 'lint') return [reader.lint(input)];
  if (task === 'attachments') return [reader.attachments(input)];
  if ('preview' in task) {
    const { page, about } = reader.preview(input, task.preview.imagesUrl);
    return [page, about];
  }
  if ('decode' in task) return [reader.decode(input, task.decode)];
  if ('fullJson' in task) return [reader.fullJson(input, task.fullJson)];
  return linesOrProblem(input, task.jsonLines, reader);
}

function linesOrProblem(input: Uint8Array, array: string, reader: MailReader): Result {
  try {
    return [reader.jsonLines(input, array)];
  } catch (error) {
    return ['', messageOf(error)];
  }
}

function runBatch({ id, states, inputs, tasks }: JobBatch, reader: MailReader): BatchResult {
  const results = new Results();
  for (const [index, input] of inputs.entries()) {
    if (Atomics.compareExchange(states, index, QUEUED, STARTED) !== QUEUED) {
      results.add(undefined);
      continue;
    }
    const task = tasks[index] ?? 'parse';
    const bytes = results.add(...run(input, task, reader));
    const most = MAX_RESULT_BYTES[operationOf(task)](input.length);
    if (bytes > most) throw new Error(`A result of ${bytes} bytes is longer than ${most}, the bound.`);
    Atomics.store(states, index, DONE);
  }
  const result = results.finish(id);
  // Free the inputs only after the results were copied, because results may be views of them.
  for (const input of inputs) freeIfLarge(input);
  return result;
}

/** Replies to every {@link JobBatch} of `port` with one {@link BatchResult}, one batch after the other. */
export function serve(port: MessagePort, reader: MailReader): void {
  port.on('message', (batch: JobBatch) => {
    // An error ends the thread, and the pool determines the job that caused it.
    const result = runBatch(batch, reader);
    port.postMessage(result, [result.bytes.buffer]);
  });
}
