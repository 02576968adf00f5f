import type { MessageStore } from '../../contract/index.ts';
import type { Removal } from '../delete-in-steps.ts';
import type { Engine } from '../engine.ts';
import { createAccountPages } from './account-pages.ts';
import { createFollowing, createPlaces } from './account-sequence.ts';
import { createCheck } from './check.ts';
import { createDeletion } from './deletion.ts';
import { createMarks } from './marks.ts';
import { createLists, createRawReads, createReads } from './reads.ts';
import { createRecipients } from './recipients.ts';
import { createReadContents } from './rows.ts';
import { createSearch } from './search.ts';
import { createUnstage } from './staged.ts';

/** Reading and deleting messages; each engine adds them in its own way. */
export function createMessages(engine: Engine, removal: Removal): Omit<MessageStore, 'addBatch' | 'stage'> {
  const readContents = createReadContents(engine.db);
  return {
    ...createLists(engine),
    ...createReads(engine),
    ...createRawReads(engine),
    ...createFollowing(engine),
    ...createPlaces(engine),
    ...createAccountPages(engine),
    search: createSearch(engine, readContents),
    check: createCheck(engine, readContents),
    ...createRecipients(engine),
    ...createMarks(engine),
    ...createDeletion(engine, removal),
    unstage: createUnstage(engine),
  };
}
