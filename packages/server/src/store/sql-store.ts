import { createAccountDeletion } from './account-deletion.ts';
import { createAccounts } from './accounts.ts';
import { createAddresses } from './addresses.ts';
import { createDeliveries } from './deliveries.ts';
import type { Db, Dialect } from './dialect.ts';
import { createDomains } from './domains.ts';
import { createFreeMessages } from './freeing.ts';
import { createInboxes } from './inboxes.ts';
import { createKeys } from './keys.ts';
import { createMessages } from './messages.ts';
import { invokeOn, storeOf } from './methods.ts';
import { createRefusals } from './refusals.ts';
import { createSources } from './sources.ts';
import type { Store } from './store.ts';
import { createUpkeep } from './upkeep.ts';
import { createUsage } from './usage.ts';
import { createWebhooks } from './webhooks.ts';

/**
 * The store on any engine that Kysely speaks to and a {@link Dialect} describes. The tables must be
 * there (`migrate`). Closing it closes `db`.
 */
export function createSqlStore(db: Db, dialect: Dialect): Store {
  const sources = createSources(db);
  const freeMessages = createFreeMessages(db, sources);
  const store: Store = {
    accounts: {
      ...createAccounts(db),
      delete: createAccountDeletion(db, dialect, sources, freeMessages),
    },
    keys: createKeys(db, dialect),
    usage: createUsage(db),
    domains: createDomains(db),
    addresses: createAddresses(db),
    inboxes: createInboxes(db, dialect, sources, freeMessages),
    messages: createMessages(db, dialect, sources),
    refusals: createRefusals(db),
    webhooks: createWebhooks(db, dialect),
    deliveries: createDeliveries(db, dialect),
    upkeep: createUpkeep(db, sources, freeMessages),
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
