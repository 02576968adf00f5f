import type { Plans } from '../accounts/plans.ts';
import type { AccountRecord } from '../accounts/sql.ts';
import type { Clock } from '../clock.ts';
import { newId } from '../ids.ts';
import { checkUrl, type GuardSettings } from './outbound/address-guard.ts';
import { newWebhookSecret } from './sign.ts';

export type NewWebhooks = ReturnType<typeof createNewWebhooks>;

interface Deps {
  guard: GuardSettings;
  clock: Clock;
  plans: Plans;
}

/** Passed to `createInbox`, which must not import webhook code. Both throw AppError `webhook_url_refused`. */
export const createNewWebhooks = ({ guard, clock, plans }: Deps) => ({
  checkUrl: (url: string): Promise<string> => checkUrl(url, guard),

  make: async ({ plan }: AccountRecord, url: string) => ({
    url: await checkUrl(url, guard),
    id: newId('whk', clock.now()),
    description: '',
    secret: newWebhookSecret(),
    maxWebhooks: plans.named(plan).maxWebhooks,
  }),
});
