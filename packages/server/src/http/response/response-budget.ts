import { AppError } from '../../errors.ts';
import { MAX_UNREAD_BYTES, MAX_UNREAD_BYTES_PER_ACCOUNT } from '../limits.ts';

const MIB = 1024 * 1024;

/**
 * Counts the bytes of responses that are in memory because their clients have not read them yet. Each account
 * has a limit, so that none uses up the limit of the process.
 */
export class ResponseBudget {
  readonly #byAccount = new Map<string, number>();
  #total = 0;

  /** Bytes that are counted now. */
  get bytes(): number {
    return this.#total;
  }

  /**
   * Counts a response.
   * @returns a function that takes the bytes back; safe to call twice
   * @throws AppError `rate_limited` when the account has too many unread bytes, `unavailable` when all have
   */
  take(accountId: string, bytes: number): () => void {
    const own = this.#byAccount.get(accountId) ?? 0;
    // A single response is sent whatever its size: otherwise it could never be read.
    if (own > 0 && own + bytes > MAX_UNREAD_BYTES_PER_ACCOUNT) {
      throw new AppError(
        'rate_limited',
        `The account has ${MAX_UNREAD_BYTES_PER_ACCOUNT / MIB} MiB of responses that were not read yet, the limit on this server. Read them, or end their connections, and retry.`,
        { retryAfterSeconds: 1 },
      );
    }
    if (this.#total > 0 && this.#total + bytes > MAX_UNREAD_BYTES) {
      throw new AppError(
        'unavailable',
        'The server holds as many unread responses as its memory allows. Retry after 1 second.',
        { retryAfterSeconds: 1 },
      );
    }
    this.#byAccount.set(accountId, own + bytes);
    this.#total += bytes;
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      this.#total -= bytes;
      const left = (this.#byAccount.get(accountId) ?? 0) - bytes;
      if (left > 0) this.#byAccount.set(accountId, left);
      else this.#byAccount.delete(accountId);
    };
  }
}
