import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '../errors.ts';
import { attachmentListJson, type FullJson, fullJson, MAX_STRING_BYTES } from '../mail/full-json.ts';
import { lintMail } from '../mail/lint/lint.ts';
import { decodeTransfer, MAX_FILLED_BYTES, type TransferEncoding } from '../mail/mime/transfer-encoding.ts';
import { parseMail } from '../mail/parse.ts';
import { MAX_PAGE_LENGTH, previewMail } from '../mail/preview/preview.ts';
import { contentJson, MAX_STORED_BYTES } from '../mail/stored-content.ts';
import { asBuffer, buffersToGive, copyToGive, freeIfLarge, giveBackMemoryLater, isLarge } from '../memory.ts';

export interface ParsedBytes {
  summary: Uint8Array;
  content: Uint8Array;
  parseError: string | null;
}

/** Operations of a worker. Each result has its own buffer, which can be transferred. Tests replace some operations. */
export const TASKS = {
  parse(raw: Uint8Array): ParsedBytes {
    const mail = parseMail(raw);
    const summary = encoded(JSON.stringify(mail.summary));
    const content = encoded(contentJson(mail, raw.length, summary.length));
    return {
      summary,
      content: isLarge(content) ? copyToGive(content) : content,
      parseError: mail.parseError,
    };
  },
  lint: (raw: Uint8Array) => encoded(JSON.stringify(lintMail(raw))),
  attachments: (raw: Uint8Array) => encoded(attachmentListJson(parseMail(raw))),
  preview(raw: Uint8Array, imagesUrl: string) {
    const { html, ...about } = previewMail(raw, imagesUrl);
    return { page: encoded(html), ...about };
  },
  fullJson: (raw: Uint8Array, about: FullJson) => joined(fullJson(parseMail(raw), about)),
  jsonLines(document: Uint8Array, array: string) {
    try {
      return { lines: encoded(jsonLines(document, array)), problem: '' };
    } catch (error) {
      return { lines: new Uint8Array(), problem: messageOf(error) };
    }
  },
  decode: (bytes: Uint8Array, encoding: TransferEncoding) =>
    joined([decodeTransfer(asBuffer(bytes), encoding)]),
};

export type Tasks = typeof TASKS;
export type Operation = keyof Tasks;

const MIB = 1024 * 1024;

/** Maximum size of a result in bytes. A larger result is a defect and ends the worker. */
export const MAX_RESULT_BYTES: Readonly<Record<Operation, (inputBytes: number) => number>> = {
  parse: () => MAX_STORED_BYTES,
  lint: () => MIB / 4,
  // In UTF-8, a UTF-16 code unit takes at most three bytes.
  preview: () => 3 * MAX_PAGE_LENGTH + 1024,
  // Enough for 1,000 parts whose names, ids and types have 1,000 characters each.
  attachments: () => 16 * MIB,
  fullJson: () => MAX_STRING_BYTES + 4 * MIB,
  // JSON.stringify can lengthen a number: it writes 1e20 with 21 digits.
  jsonLines: (inputBytes) => 5 * inputBytes + 1024,
  decode: (inputBytes) => inputBytes + MAX_FILLED_BYTES,
};

export interface WorkerData {
  begun: Int32Array;
}

export type ToWorker = [operation: Operation, input: Uint8Array, argument: unknown][];

export type TaskResult = ReturnType<Tasks[Operation]>;

export type FromWorker = TaskResult[];

/** Number of results posted at once: few, so that mails can be stored while the next ones are parsed. */
const RESULTS = 4;

const encoded = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Copies the pieces into one new array, because they may be views of a larger buffer. Frees large pieces. */
function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
    freeIfLarge(piece);
  }
  return bytes;
}

const ITEMS_PER_LINE = 20;

/**
 * Splits a JSON document into lines. The first is the document with its field `array` empty, and the others
 * are groups of the items of that field. The caller can yield to the event loop after each line.
 * @throws SyntaxError, or RangeError if the document is nested too deeply
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

function run(operation: Operation, input: Uint8Array, argument: unknown): TaskResult {
  const most = MAX_RESULT_BYTES[operation](input.length);
  const result = TASKS[operation](input, argument as never);
  freeIfLarge(input);
  const length = bytesIn(result).reduce((sum, part) => sum + part.length, 0);
  if (length > most) throw new Error(`A result of ${length} bytes is longer than ${most}, the bound.`);
  return result;
}

const bytesIn = (result: TaskResult): Uint8Array[] =>
  result instanceof Uint8Array
    ? [result]
    : Object.values(result).filter((part) => part instanceof Uint8Array);

/** Entry point of a parser worker; see parse-pool.ts. An error ends the thread, and the current job fails. */
if (parentPort !== null) {
  const port = parentPort;
  const { begun }: WorkerData = workerData;
  port.on('message', (jobs: ToWorker) => {
    let results: FromWorker = [];
    for (const [index, job] of jobs.entries()) {
      Atomics.add(begun, 0, 1);
      results.push(run(...job));
      if (results.length < RESULTS && index < jobs.length - 1) continue;
      port.postMessage(results, buffersToGive(results.flatMap(bytesIn)));
      results = [];
    }
  });
  void giveBackMemoryLater();
}
