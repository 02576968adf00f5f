import type { Store } from '../contract/index.ts';
import { invokeOn, storeOf } from '../method-dispatch.ts';
import { createAccountDeletion } from './accounts/account-deletion.ts';
import { createAccounts } from './accounts/accounts.ts';
import { createDomains } from './accounts/domains.ts';
import { createKeys } from './accounts/keys.ts';
import { createSessions } from './accounts/sessions.ts';
import { createFreeMessages } from './delete-in-steps.ts';
import type { Db, Dialect } from './dialect.ts';
import { createAddresses } from './inboxes/addresses.ts';
import { createInboxes } from './inboxes/inboxes.ts';
import { createRefusals } from './inboxes/refusals.ts';
import { createUpkeep } from './maintenance.ts';
import { createMessages } from './messages/messages.ts';
import { createSources } from './messages/sources.ts';
import { createUsage } from './usage.ts';
import { createDeliveries } from './webhooks/deliveries.ts';
import { createWebhooks } from './webhooks/webhooks.ts';

/**
 * The store on any engine that Kysely speaks to and a {@link Dialect} describes. The tables must be
 * there (`migrate`). Closing it closes `db`.
 */
export function createSqlStore(db: Db, dialect: Dialect): Store {
  const sources = createSources(db, dialect);
  const freeMessages = createFreeMessages(db, sources);
  const store: Store = {
    accounts: {
      ...createAccounts(db),
      delete: createAccountDeletion(db, dialect, sources, freeMessages),
    },
    keys: createKeys(db, dialect),
    sessions: createSessions(db),
    usage: createUsage(db),
    domains: createDomains(db),
    addresses: createAddresses(db),
    inboxes: createInboxes(db, dialect, sources, freeMessages),
    messages: createMessages(db, dialect, sources, freeMessages),
    refusals: createRefusals(db),
    webhooks: createWebhooks(db, dialect),
    deliveries: createDeliveries(db, dialect),
    upkeep: createUpkeep(db, dialect, sources, freeMessages),
    // A transaction, because the question is whether the storage lets us write.
    ping: () =>
      db.transaction().execute(async (tx) => {
        await tx.selectFrom('accounts').select('id').limit(1).execute();
      }),
    generation: () => null,
    close: () => db.destroy(),
  };
  return storeOf(async (path, args) => {
    try {
      return await invokeOn(store, path, args);
    } catch (error) {
      throw dialect.toUnavailable(error) ?? error;
    }
  }, store);
}
