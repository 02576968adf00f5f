import { type FullJson, MAX_STRING_BYTES } from '../../mail/full-json.ts';
import { MAX_FILLED_BYTES, type TransferEncoding } from '../../mail/mime/transfer-encoding.ts';
import { MAX_PAGE_LENGTH } from '../../mail/preview/page.ts';
import { MAX_STORED_BYTES } from '../../mail/stored-content.ts';

/**
 * Messages between the parser pool and its workers. Mails are copied, neither shared nor given away: a
 * worker may be terminated, and the garbage collector does not see the weight of shared memory.
 */

/** States of a job, in the shared array of its batch; each change is one compare-and-exchange. */
export const QUEUED = 0;
/** The worker reads this mail now. */
export const STARTED = 1;
/** The worker has the result and has not sent it yet. */
export const DONE = 2;
/** The pool took the job back before the worker came to it. */
export const TAKEN = 3;

/**
 * What a worker does with the bytes of a job: read a mail; find what is wrong with it; make the page that shows
 * it; list its attachments; write the JSON of its message; cut a JSON document
 * into lines; decode one of its attachments, which it finds by
 * reading the mail; or undo a transfer encoding.
 */
export type Task =
  | 'parse'
  | 'lint'
  | 'attachments'
  | { preview: { imagesUrl: string } }
  | { fullJson: FullJson }
  | { jsonLines: string }
  | { attachment: string }
  | { decode: TransferEncoding };

type Names<T> = T extends string ? T : keyof T;
export type Operation = Names<Task>;

const MIB = 1024 * 1024;

/**
 * Most bytes of the result of an operation, by the number of bytes that it is given. What makes a result is bounded
 * itself; a worker that returns more has a defect, and ends before the result is copied and posted.
 */
export const MAX_RESULT_BYTES: Readonly<Record<Operation, (inputBytes: number) => number>> = {
  parse: () => MAX_STORED_BYTES,
  // One finding a rule, each of a few sentences.
  lint: () => MIB / 4,
  // UTF-8 takes three bytes for a UTF-16 code unit at most; a few hundred are ours.
  preview: () => 3 * MAX_PAGE_LENGTH + 1024,
  // A thousand parts with names, ids and types of a thousand characters each.
  attachments: () => 16 * MIB,
  // Beside strings: names of fields, numbers and addresses of a thousand parts.
  fullJson: () => MAX_STRING_BYTES + 4 * MIB,
  // Numbers grow when they are written out: 1e20. What is not JSON gives a sentence.
  jsonLines: (inputBytes) => 5 * inputBytes + 1024,
  attachment: (inputBytes) => inputBytes + MAX_FILLED_BYTES,
  decode: (inputBytes) => inputBytes + MAX_FILLED_BYTES,
};

/** One posted message: several jobs, done in order. */
export interface JobBatch {
  /** One {@link QUEUED} … {@link TAKEN} a job. */
  states: Int32Array;
  /** The bytes, one array a job; the memory of large ones is the worker's, which frees it. */
  inputs: Uint8Array[];
  tasks: Task[];
}

/** The answer to one {@link JobBatch}. */
export interface BatchResult {
  /** All results behind one another; given away to the pool. */
  bytes: Uint8Array<ArrayBuffer>;
  /**
   * Two lengths a job: of the summary and the content, or of the decoded bytes and 0. -1 and 0 where there
   * is no result: the job was {@link TAKEN}, or the mail has no such attachment.
   */
  lengths: number[];
  /** `parseError`, one a job. */
  errors: (string | null)[];
}
