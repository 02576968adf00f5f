import { type FullJson, MAX_STRING_BYTES } from '../../mail/full-json.ts';
import { MAX_FILLED_BYTES, type TransferEncoding } from '../../mail/mime/transfer-encoding.ts';
import { MAX_PAGE_LENGTH } from '../../mail/preview/preview.ts';
import { MAX_STORED_BYTES } from '../../mail/stored-content.ts';

/** Messages between the parser pool and its workers. Inputs are copied unless they were given to the pool. */

/** States of a job, in the shared array of its batch; each change is one compare-and-exchange. */
export const QUEUED = 0;
export const STARTED = 1;
/** The worker has finished but not sent the result. */
export const DONE = 2;
/** The pool took the job back before the worker started it. */
export const TAKEN = 3;

/** The name of an operation, and its argument beside the input. */
export type Task =
  | ['parse' | 'lint' | 'attachments']
  | ['preview', imagesUrl: string]
  | ['fullJson', FullJson]
  | ['jsonLines', array: string]
  | ['decode', TransferEncoding];

export type Operation = Task[0];

const MIB = 1024 * 1024;

/** Upper bound of a result's bytes by the bytes of its input. A longer result is a defect, and ends the worker. */
export const MAX_RESULT_BYTES: Readonly<Record<Operation, (inputBytes: number) => number>> = {
  parse: () => MAX_STORED_BYTES,
  lint: () => MIB / 4,
  // UTF-8 takes at most three bytes for a UTF-16 code unit.
  preview: () => 3 * MAX_PAGE_LENGTH + 1024,
  // Enough for a thousand parts with names, ids and types of a thousand characters each.
  attachments: () => 16 * MIB,
  fullJson: () => MAX_STRING_BYTES + 4 * MIB,
  // A number may become longer: 1e20 is written with 21 digits.
  jsonLines: (inputBytes) => 5 * inputBytes + 1024,
  decode: (inputBytes) => inputBytes + MAX_FILLED_BYTES,
};

export interface JobBatch {
  /** Returned with the result. */
  id: number;
  /** The state of each job, {@link QUEUED} to {@link TAKEN}. */
  states: Int32Array;
  /** The input of each job; large ones are transferred. */
  inputs: Uint8Array[];
  tasks: Task[];
}

export interface BatchResult {
  /** The id of the {@link JobBatch}. */
  id: number;
  /** All results, concatenated; transferred. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Two lengths for each job: summary and content, or one result and 0; -1 and 0 without a result. */
  lengths: number[];
  errors: (string | null)[];
}
