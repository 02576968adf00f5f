import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { AccountRecord, AccountStore } from '../store/contract/index.ts';
import { newKey } from './keys.ts';

/** Enough for a team that reads the invitation at once; a flood of accounts must not fill the storage. */
export const SIGN_UPS_PER_MINUTE = 10;
/** The same for one client address: a person who mistypes a name and tries again, not a script. */
export const SIGN_UPS_PER_ADDRESS = 5;
/** A flood from one address must leave sign-ups to others, and may not go on for long. */
const ADDRESS_WINDOW_MS = 10 * 60_000;
const MINUTE_MS = 60_000;

/** Lets events through, at most `limit` within any `windowMs`. */
class SlidingWindow {
  readonly #limit: number;
  readonly #windowMs: number;
  /** When the last ones were let through, oldest first. */
  #times: number[] = [];

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** Milliseconds until the next one is let through; 0 when it is now. @param now monotonic milliseconds */
  waitMs(now: number): number {
    this.#times = this.#times.filter((time) => time + this.#windowMs > now);
    const [oldest] = this.#times;
    return oldest === undefined || this.#times.length < this.#limit ? 0 : oldest + this.#windowMs - now;
  }

  isEmpty(now: number): boolean {
    return this.#times.every((time) => time + this.#windowMs <= now);
  }

  add(now: number): void {
    this.#times.push(now);
  }
}

function assertAllowed(waitMs: number, limit: string): void {
  if (waitMs <= 0) return;
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  throw new AppError('rate_limited', `${limit} Retry after ${retryAfterSeconds} seconds.`, {
    retryAfterSeconds,
  });
}

/**
 * Lets anyone make an account of a plan.
 * @returns a function that makes one
 *   - `address` identifies the client: at most {@link SIGN_UPS_PER_ADDRESS} in ten minutes
 *   - throws AppError `rate_limited`, also beyond {@link SIGN_UPS_PER_MINUTE} on this node
 */
export function createSignUp(
  store: Pick<AccountStore, 'create'>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
  plan: string,
): (name: string, address: string) => Promise<{ account: AccountRecord; key: string }> {
  const all = new SlidingWindow(SIGN_UPS_PER_MINUTE, MINUTE_MS);
  const byAddress = new Map<string, SlidingWindow>();

  const admit = (address: string, now: number): void => {
    // At most ten a minute are added, so few are kept.
    for (const [other, window] of byAddress) if (window.isEmpty(now)) byAddress.delete(other);
    const window = byAddress.get(address) ?? new SlidingWindow(SIGN_UPS_PER_ADDRESS, ADDRESS_WINDOW_MS);
    assertAllowed(
      window.waitMs(now),
      `This server accepts ${SIGN_UPS_PER_ADDRESS} sign-ups from one address in 10 minutes.`,
    );
    assertAllowed(all.waitMs(now), `This server accepts ${SIGN_UPS_PER_MINUTE} sign-ups per minute.`);
    window.add(now);
    all.add(now);
    byAddress.set(address, window);
  };

  return async (name, address) => {
    const now = clock.now();
    admit(address, clock.monotonic());
    const account = { id: newId('acc', now), name, plan, createdAt: now };
    const wanted = { accountId: account.id, name: 'first key', scope: 'full', expiresAt: null } as const;
    const { record, key } = newKey(wanted, now);
    await store.create(account, record);
    return { account, key };
  };
}
