/** A server for a test to kill: it commits one mail, says so, and then holds the database. */

import { openSqlite } from '../../../src/database/sqlite/open.ts';
import { newId } from '../../../src/ids.ts';
import { inboxAt, mailTo, onlyPlaced, T } from '../builders.ts';

const [, , path = ''] = process.argv;
const store = await openSqlite({ path });
const accountId = newId('acc', T);
await store.accounts.createFirst(
  { id: accountId, name: 'a', plan: 'free', createdAt: T },
  {
    id: newId('key', T),
    accountId,
    name: 'k',
    scope: 'full',
    prefix: 'mfk_',
    createdAt: T,
    expiresAt: null,
    hash: 'h',
  },
);
const { inbox } = await store.inboxes.create(accountId, inboxAt(), 10, null);
const { messageId } = await onlyPlaced(store, mailTo([inbox]), T);
process.send?.({ inboxId: inbox.id, messageId });
