import { AppError } from '../../errors.ts';
import { DAMAGED_PAGE, damaged, unavailable } from '../failures.ts';

const STORAGE_ERRORS: Readonly<Record<number, string>> = {
  5: 'busy: another process holds it',
  6: 'busy: another process holds it',
  7: 'out of memory',
  8: 'read-only',
  10: 'failing: an input or output error',
  13: 'full',
  14: 'inaccessible',
  21: 'closed',
};
const BUSY = 5;
const IO_ERROR = 10;
const FULL_DISK = 13;
/** SQLITE_CORRUPT and SQLITE_NOTADB: a page that was read is not one that SQLite wrote. */
const DAMAGED: readonly number[] = [11, 26];

/** The primary result code (sqlite.org/rescode.html) of an SQLite error or an AppError's cause, or else 0. */
function primaryCodeOf(error: unknown): number {
  if (error instanceof AppError) return primaryCodeOf(error.cause);
  if (!(error instanceof Error) || !('code' in error) || !('errcode' in error)) return 0;
  return error.code === 'ERR_SQLITE_ERROR' ? Number(error.errcode) & 0xff : 0;
}

export const isBusy = (error: unknown): boolean => primaryCodeOf(error) === BUSY;

export const isFull = (error: unknown): boolean => primaryCodeOf(error) === FULL_DISK;

/** True after an I/O error. The connection must not be used any more, as a failed sync may have lost data. */
export const isBroken = (error: unknown): boolean => primaryCodeOf(error) === IO_ERROR;

/** True if the database file was removed or replaced (see `requireSameFile`). Then all later transactions fail too. */
export const isRemoved = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'storage_damaged' && primaryCodeOf(error) === 0;

export function toUnavailable(error: unknown): AppError | undefined {
  if (error instanceof AppError) return undefined;
  const code = primaryCodeOf(error);
  if (DAMAGED.includes(code)) return damaged(DAMAGED_PAGE, error);
  const state = STORAGE_ERRORS[code];
  return state === undefined ? undefined : unavailable(state, error);
}
