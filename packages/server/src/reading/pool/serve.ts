import type { MessagePort } from 'node:worker_threads';
import { messageOf } from '../../errors.ts';
import { attachmentListJson, fullJson } from '../../mail/full-json.ts';
import { lintMail } from '../../mail/lint/lint.ts';
import { decodeTransfer } from '../../mail/mime/transfer-encoding.ts';
import { parseMail } from '../../mail/parse.ts';
import { previewMail } from '../../mail/preview/preview.ts';
import { contentJson } from '../../mail/stored-content.ts';
import { freeIfLarge } from '../../memory.ts';
import {
  type BatchResult,
  DONE,
  type JobBatch,
  MAX_RESULT_BYTES,
  QUEUED,
  STARTED,
  type Task,
} from './protocol.ts';

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

/** Replaced by tests with faulty ones. */
export const READERS = { parseMail, lintMail };

/** Results may be views of the input. */
function run(input: Uint8Array, [operation, argument]: Task): Result {
  switch (operation) {
    case 'parse': {
      const mail = READERS.parseMail(input);
      const summary = JSON.stringify(mail.summary);
      return [summary, contentJson(mail, input.length, Buffer.byteLength(summary)), mail.parseError];
    }
    case 'lint':
      return [JSON.stringify(READERS.lintMail(input))];
    case 'attachments':
      return [attachmentListJson(input)];
    case 'preview': {
      const { html, ...about } = previewMail(input, argument);
      return [html, JSON.stringify(about)];
    }
    case 'fullJson':
      return [fullJson(input, argument)];
    case 'jsonLines':
      return linesOrProblem(input, argument);
    case 'decode':
      return [decodeTransfer(Buffer.from(input.buffer, input.byteOffset, input.length), argument)];
  }
}

function linesOrProblem(input: Uint8Array, array: string): Result {
  try {
    return [jsonLines(input, array)];
  } catch (error) {
    return ['', messageOf(error)];
  }
}

/** Items of one line: few enough to be validated in a millisecond. */
const ITEMS_PER_LINE = 20;

/**
 * Splits a JSON document into lines, so that its reader can yield to the event loop between two of them: first the
 * document with its field `array` emptied, then the items of that field as arrays of several items.
 * @throws SyntaxError, or RangeError for a document that is nested too deeply
 */
function jsonLines(document: Uint8Array, array: string): string {
  const value: unknown = JSON.parse(new TextDecoder().decode(document));
  const items = (value as Record<string, unknown> | null)?.[array];
  if (!Array.isArray(items)) return JSON.stringify(value);
  const lines = [JSON.stringify({ ...(value as object), [array]: [] })];
  for (let at = 0; at < items.length; at += ITEMS_PER_LINE) {
    lines.push(JSON.stringify(items.slice(at, at + ITEMS_PER_LINE)));
  }
  return lines.join('\n');
}

function runBatch({ id, states, inputs, tasks }: JobBatch): BatchResult {
  const results = new Results();
  for (const [index, input] of inputs.entries()) {
    if (Atomics.compareExchange(states, index, QUEUED, STARTED) !== QUEUED) {
      results.add(undefined);
      continue;
    }
    const task = tasks[index] ?? ['parse'];
    const bytes = results.add(...run(input, task));
    const most = MAX_RESULT_BYTES[task[0]](input.length);
    if (bytes > most) throw new Error(`A result of ${bytes} bytes is longer than ${most}, the bound.`);
    Atomics.store(states, index, DONE);
  }
  const result = results.finish(id);
  // Free the inputs only after the results were copied, because results may be views of them.
  for (const input of inputs) freeIfLarge(input);
  return result;
}

/** Replies to every {@link JobBatch} of `port` with one {@link BatchResult}, one batch after the other. */
export function serve(port: MessagePort): void {
  port.on('message', (batch: JobBatch) => {
    // An error ends the thread, and the pool determines the job that caused it.
    const result = runBatch(batch);
    port.postMessage(result, [result.bytes.buffer]);
  });
}
