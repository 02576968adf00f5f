import type { Clock } from '../clock.ts';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import type { AccountRecord, AccountStore } from '../store/contract/index.ts';
import { newKey } from './keys.ts';

/** Enough for a team that reads the invitation at once; a flood of accounts must not fill the storage. */
export const SIGN_UPS_PER_MINUTE = 10;
const MINUTE_MS = 60_000;

/** Lets anyone make an account of a plan, at most {@link SIGN_UPS_PER_MINUTE} on this node. */
export function createSignUp(
  store: Pick<AccountStore, 'create'>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
  plan: string,
): (name: string) => Promise<{ account: AccountRecord; key: string }> {
  /** When the last ones were admitted, monotonic milliseconds, oldest first. */
  const times: number[] = [];

  /** @throws AppError `rate_limited` */
  const admit = (now: number): void => {
    const [oldest = 0] = times;
    if (times.length === SIGN_UPS_PER_MINUTE) {
      const wait = oldest + MINUTE_MS - now;
      if (wait > 0) {
        const retryAfterSeconds = Math.ceil(wait / 1000);
        throw new AppError(
          'rate_limited',
          `This server accepts ${SIGN_UPS_PER_MINUTE} sign-ups per minute. Retry after ${retryAfterSeconds} seconds.`,
          { retryAfterSeconds },
        );
      }
      times.shift();
    }
    times.push(now);
  };

  return async (name) => {
    const now = clock.now();
    admit(clock.monotonic());
    const account = { id: newId('acc', now), name, plan, createdAt: now };
    const wanted = { accountId: account.id, name: 'first key', scope: 'full', expiresAt: null } as const;
    const { record, key } = newKey(wanted, now);
    await store.create(account, record);
    return { account, key };
  };
}
