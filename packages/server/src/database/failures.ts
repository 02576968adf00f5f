import { AppError } from '../errors.ts';

const RETRY = { retryAfterSeconds: 5 };

/** The error for a call that had no effect. @param state completes the sentence "The storage is …" */
export const unavailable = (state: string, cause?: unknown): AppError =>
  new AppError(
    'unavailable',
    `The storage is ${state}. Retry after ${RETRY.retryAfterSeconds} seconds.`,
    RETRY,
    { cause },
  );

export const DAMAGED_PAGE =
  'A page of the database is damaged. What needs that page cannot be read or changed; all else works.';

/** For damage that only the operator can repair. Writes may have taken effect. @param what a sentence */
export const damaged = (what: string, cause?: unknown): AppError =>
  new AppError(
    'storage_damaged',
    `${what} Tell the operator: the log of the server says what to do.`,
    {},
    { cause },
  );

export const outcomeUnknown = (cause?: unknown): AppError =>
  new AppError(
    'outcome_unknown',
    `The storage failed during the request, which may or may not have taken effect. Check the result, or retry after ${RETRY.retryAfterSeconds} seconds.`,
    RETRY,
    { cause },
  );

const FULL = unavailable('full').message;

/** Whether one item of a batch may have caused the error, such as a mail larger than the free space. */
export const mayDependOnItem = (error: unknown): boolean =>
  !(error instanceof AppError) || error.message === FULL || error.message.startsWith(DAMAGED_PAGE);
