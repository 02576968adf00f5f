/**
 * What the parsing pool and its workers say to each other. Mails are copied, not shared and not given
 * away: a worker may be killed, and the garbage collector does not see the weight of shared memory.
 */

/** States of a job, in the shared array of its batch; each change is one compare-and-exchange. */
export const QUEUED = 0;
/** The worker reads this mail now. */
export const STARTED = 1;
/** The worker has the result and has not sent it yet. */
export const DONE = 2;
/** The pool took the job back before the worker came to it. */
export const TAKEN = 3;

/** One posted message: several jobs, done in order. */
export interface JobBatch {
  /** One {@link QUEUED} … {@link TAKEN} a job. */
  states: Int32Array;
  /** The raw mails, one a job; the memory of large ones is the worker's, which frees it. */
  raws: Uint8Array[];
  /** The attachment to decode; null where the job is to parse. One a job. */
  attachmentIds: (string | null)[];
}

/** The answer to one {@link JobBatch}. */
export interface BatchResult {
  /** All results behind one another; given away to the pool. */
  bytes: Uint8Array<ArrayBuffer>;
  /**
   * Two lengths a job: of the summary and the content, or of the attachment and 0. -1 and 0 where there
   * is no result: the job was {@link TAKEN}, or the mail has no such attachment.
   */
  lengths: number[];
  /** `parseError`, one a job. */
  errors: (string | null)[];
}
