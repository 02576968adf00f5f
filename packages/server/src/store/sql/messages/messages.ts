import type { MessageStore } from '../../contract/index.ts';
import type { Removal } from '../delete-in-steps.ts';
import type { Engine } from '../engine.ts';
import { createAccountPages } from './account-pages.ts';
import { createFollowing } from './account-sequence.ts';
import { createDeletion } from './deletion.ts';
import { createReads } from './reads.ts';
import { createSearch } from './search.ts';

/** Reading and deleting messages; each engine adds them in its own way. */
export function createMessages(engine: Engine, removal: Removal): Omit<MessageStore, 'addBatch'> {
  return {
    ...createReads(engine),
    ...createFollowing(engine),
    ...createAccountPages(engine),
    search: createSearch(engine),
    ...createDeletion(engine, removal),
  };
}
