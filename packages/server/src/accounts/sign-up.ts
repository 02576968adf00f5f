import { type Clock, MINUTE_MS } from '../clock.ts';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Store } from '../store.ts';
import { newKey } from './keys.ts';
import type { AccountRecord } from './sql.ts';

/** Enough for a team that reads the invitation at once; a flood of accounts must not fill the storage. */
export const SIGN_UPS_PER_MINUTE = 10;
/** The same for one client address: a person who mistypes a name and tries again, not a script. */
export const SIGN_UPS_PER_ADDRESS = 5;
/** A flood from one address must leave sign-ups to others, and may not go on for long. */
const ADDRESS_WINDOW_MS = 10 * MINUTE_MS;

/** The window of all sign-ups; those of addresses have other keys. */
const ALL = 'sign-ups';

/**
 * Lets anyone make an account of a plan. All nodes count together.
 * @returns a function that makes one
 *   - `address` identifies the client: at most {@link SIGN_UPS_PER_ADDRESS} in ten minutes
 *   - throws AppError `rate_limited`, also beyond {@link SIGN_UPS_PER_MINUTE} of all clients; `unavailable`
 */
export function createSignUp(
  store: Pick<Store, 'accounts' | 'limits'>,
  clock: Pick<Clock, 'now'>,
  plan: string,
): (name: string, address: string) => Promise<{ account: AccountRecord; key: string }> {
  return async (name, address) => {
    const now = clock.now();
    const windows = [
      { key: ALL, limit: SIGN_UPS_PER_MINUTE, windowMs: MINUTE_MS },
      { key: `${ALL} ${address}`, limit: SIGN_UPS_PER_ADDRESS, windowMs: ADDRESS_WINDOW_MS },
    ];
    const full = await store.limits.admit(windows, now);
    if (full) throw tooManySignUps(full.key === ALL, full.waitMs);
    const account = { id: newId('acc', now), name, plan, createdAt: now };
    const wanted = { accountId: account.id, name: 'first key', scope: 'full', expiresAt: null } as const;
    const { record, key } = newKey(wanted, now);
    await store.accounts.create(account, record);
    return { account, key };
  };
}

function tooManySignUps(ofAll: boolean, waitMs: number): AppError {
  const limit = ofAll
    ? `This server accepts ${SIGN_UPS_PER_MINUTE} sign-ups per minute.`
    : `This server accepts ${SIGN_UPS_PER_ADDRESS} sign-ups from one address in 10 minutes.`;
  const retryAfterSeconds = Math.ceil(waitMs / 1_000);
  return new AppError('rate_limited', `${limit} Retry after ${retryAfterSeconds} seconds.`, {
    retryAfterSeconds,
  });
}
