import { AppError } from '../errors.ts';

const RETRY_AFTER_SECONDS = 5;

/** The error of a call that changed nothing; `state` completes "The storage is …". */
export function unavailable(state: string, cause?: unknown): AppError {
  const details = { retryAfterSeconds: RETRY_AFTER_SECONDS };
  return new AppError(
    'unavailable',
    `The storage is ${state}. Retry after ${RETRY_AFTER_SECONDS} seconds.`,
    details,
    { cause },
  );
}

export const DAMAGED_PAGE =
  'A page of the database is damaged. What needs that page cannot be read or changed; all else works.';

/** Only the operator can resolve it. A write may or may not have taken effect. @param what a full sentence */
export function damaged(what: string, cause?: unknown): AppError {
  const message = `${what} Tell the operator: the log of the server says what to do.`;
  return new AppError('storage_damaged', message, {}, { cause });
}

/** The error of a write that may or may not be on stable storage. */
export function outcomeUnknown(cause?: unknown): AppError {
  const details = { retryAfterSeconds: RETRY_AFTER_SECONDS };
  return new AppError(
    'outcome_unknown',
    `The storage failed during the request, which may or may not have taken effect. Check the result, or retry after ${RETRY_AFTER_SECONDS} seconds.`,
    details,
    { cause },
  );
}
