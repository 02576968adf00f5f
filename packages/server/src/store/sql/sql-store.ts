import { callsOn } from '../../database/operations.ts';
import { operations } from '../../store.ts';
import { createMailBatcher } from '../batcher.ts';
import type { Store } from '../contract/index.ts';
import { createRemoval } from './delete-in-steps.ts';
import type { Engine, HotCalls } from './engine.ts';
import { createAddresses } from './inboxes/addresses.ts';
import { createInboxes } from './inboxes/inboxes.ts';
import { createUpkeep } from './maintenance.ts';
import { createExplained } from './reports/explained-waits.ts';
import { createListLabels, createListRun } from './reports/list-run.ts';
import { createAddWaits } from './reports/waits.ts';
import { createDeliveries } from './webhooks/deliveries.ts';
import { createListOfMessage } from './webhooks/of-message.ts';
import { createWebhooks } from './webhooks/webhooks.ts';

/** The store on an engine. The tables must exist (`migrate`). Closing it closes the engine's database. */
export function createSqlStore(engine: Engine & { hot: HotCalls }): Store {
  const { db, dialect, transaction, hot } = engine;
  const removal = createRemoval(engine);
  const calls = callsOn(operations, engine.kit);
  return {
    ...calls,
    addresses: createAddresses(engine),
    inboxes: createInboxes(engine, removal),
    messages: {
      ...calls.messages,
      addBatch: createMailBatcher(calls.messages.addBatch, dialect.mayDependOnContent),
    },
    webhooks: createWebhooks(engine),
    deliveries: {
      ...createDeliveries(engine),
      listOfMessage: createListOfMessage(engine),
      ...{ claim: hot.claim, record: hot.record },
    },
    reports: {
      addWaits: createAddWaits(engine),
      ...createExplained(engine),
      listRun: createListRun(engine),
      listLabels: createListLabels(engine),
    },
    upkeep: createUpkeep(engine, removal),
    // A transaction, because it tells whether the storage can be written to.
    ping: () =>
      transaction(async (tx) => {
        await tx.selectFrom('accounts').select('id').limit(1).execute();
      }),
    generation: () => null,
    close: () => db.destroy(),
  };
}
