import { type Clock, MINUTE_MS } from '../clock.ts';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { Store } from '../store.ts';
import { newKey } from './keys.ts';
import type { AccountRecord } from './sql.ts';

/** Of all clients: enough for a team that is invited at once; a flood of accounts must not fill the storage. */
export const SIGN_UPS_PER_MINUTE = 10;
/** Of one client address: enough for a person who mistypes a name and retries. */
export const SIGN_UPS_PER_ADDRESS = 5;
/** One address must leave sign-ups to others, and may not continue for long. */
const ADDRESS_WINDOW_MS = 10 * MINUTE_MS;

const ALL = 'sign-ups';

/**
 * Creates accounts of a plan for anyone; all nodes count together. `address` identifies the client.
 * @returns a function that throws AppError `rate_limited` above a limit, or `unavailable`
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
