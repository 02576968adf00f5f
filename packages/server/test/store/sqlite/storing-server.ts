/** A server for a test to kill: it commits one large mail after the other, and says so of each. */

import { openSqlite } from '../../../src/database/sqlite/open.ts';
import { newId } from '../../../src/ids.ts';
import { inboxAt, mailTo, onlyPlaced, T } from '../builders.ts';

const [, , path = '', bytes = '0'] = process.argv;
const store = await openSqlite({ path });
const accountId = newId('acc', T);
await store.accounts.create({ id: accountId, name: 'a', plan: 'free', createdAt: T }, null);
const { inbox } = await store.inboxes.create(accountId, inboxAt(), 10, null);
process.send?.({ inboxId: inbox.id });
for (;;) {
  const { messageId } = await onlyPlaced(store, mailTo([inbox], { raw: new Uint8Array(Number(bytes)) }), T);
  process.send?.({ messageId });
}
