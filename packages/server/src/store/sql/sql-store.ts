import { callsOn } from '../../database/operations.ts';
import { operations } from '../../store.ts';
import { createMailBatcher } from '../batcher.ts';
import type { Store } from '../contract/index.ts';
import { createRemoval } from './delete-in-steps.ts';
import type { Engine, HotCalls } from './engine.ts';
import { createMessages } from './messages/messages.ts';

/** The store on an engine. The tables must exist (`migrate`). Closing it closes the engine's database. */
export function createSqlStore(engine: Engine & { hot: HotCalls }): Store {
  const { db, dialect, transaction, hot } = engine;
  const removal = createRemoval(engine);
  return {
    ...callsOn(operations, engine.kit),
    messages: {
      ...createMessages(engine, removal),
      addBatch: createMailBatcher(hot.addBatch, dialect.mayDependOnContent),
      stage: hot.stage,
    },
    // A transaction, because it tells whether the storage can be written to.
    ping: () =>
      transaction(async (tx) => {
        await tx.selectFrom('accounts').select('id').limit(1).execute();
      }),
    generation: () => null,
    close: () => db.destroy(),
  };
}
