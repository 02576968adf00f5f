import { callsOn, type Kit } from '../database/operations.ts';
import { sql } from '../database/sql.ts';
import { operations } from '../store.ts';
import { createMailBatcher } from './batcher.ts';
import type { Store } from './contract/index.ts';

/** A database as the operations need it. */
export interface Engine extends Kit {
  /**
   * True if a failed transaction may succeed without a part of it, such as one message that is too large for
   * the free space; false if the storage would fail for each part as well.
   */
  mayDependOnContent(error: unknown): boolean;
  close(): Promise<void>;
}

/** The store on an engine. The tables must exist (`migrate`). Closing it closes the engine's database. */
export function createStore(engine: Engine): Store {
  const calls = callsOn(operations, engine);
  return {
    ...calls,
    messages: {
      ...calls.messages,
      addBatch: createMailBatcher(calls.messages.addBatch, engine.mayDependOnContent),
    },
    // A transaction, because it tells whether the storage can be written to.
    ping: async () => {
      await engine.transaction((tx) => tx.first(sql`select id from accounts limit 1`));
    },
    generation: () => null,
    close: () => engine.close(),
  };
}
