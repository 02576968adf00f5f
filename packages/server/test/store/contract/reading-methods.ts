import { isReading } from '../../../src/database/sql.ts';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import { OPERATIONS, type Store } from '../../../src/store.ts';
import { everything, saying } from '../builders.ts';

/** What a reading method has to find. */
export interface Shown {
  owner: string;
  inbox: Pick<InboxRecord, 'id' | 'address'>;
  tokenHash: string;
  messageId: string;
}

/** Methods that return a number from an order, and nothing of an inbox or a message. */
const SHOW_NOTHING: readonly string[] = ['messages.newestInAccount', 'messages.placeInAccount'];

/** Every method of the store that may show an inbox or a message; a new one fails until it stands here. */
export const SHOWING = [...OPERATIONS]
  .flatMap(([path, { kind }]) => (isReading(kind) ? [path] : []))
  .filter((path) => /^(inboxes|messages)\./.test(path) && !SHOW_NOTHING.includes(path))
  .toSorted();

/** Each of {@link SHOWING}: true when it shows the live inbox, or the message. */
export function showingMethods(
  { inboxes, messages }: Store,
  { owner, inbox, tokenHash, messageId }: Shown,
): Record<string, (now: number) => Promise<boolean>> {
  const page = { labels: {}, limit: 9, before: null };
  const isLive = (found: InboxRecord | undefined, now: number) => (found?.expiresAt ?? 0) > now;
  return {
    'inboxes.find': async (now) => isLive(await inboxes.find(owner, inbox.id, now), now),
    'inboxes.findByToken': async (now) => isLive(await inboxes.findByToken(tokenHash, now), now),
    'inboxes.findTokenHash': async (now) => (await inboxes.findTokenHash(inbox.id, now)) === tokenHash,
    'inboxes.findTakers': async (now) => !!(await inboxes.findTakers(inbox.address, now)).ofAddress?.live,
    'inboxes.list': async (now) => (await inboxes.list(owner, page, now)).inboxes.length > 0,
    'messages.listRows': async (now) => (await messages.listRows(inbox.id, everything, now)).length > 0,
    'messages.listAfter': async (now) => (await messages.listAfter(inbox.id, everything, now)).length > 0,
    'messages.listByAccount': async (now) =>
      (await messages.listByAccount(owner, everything, now)).length > 0,
    'messages.listNewest': async (now) =>
      (await messages.listNewest(owner, everything, now)).messages.length > 0,
    'messages.search': async (now) =>
      (await messages.search({ accountId: owner }, saying('hello'), everything, now)).messages.length > 0,
    'messages.check': async (now) =>
      (await messages.check(inbox.id, { text: 'hello' }, { ...everything, order: 'oldest-first' }, now))
        .messages.length > 0,
    'messages.recipients': async (now) => (await messages.recipients(inbox.id, 0, now)) !== '',
    'messages.existing': async (now) => (await messages.existing(inbox.id, [messageId], now)).length > 0,
    'messages.find': async (now) => !!(await messages.find(inbox.id, messageId, now)),
    'messages.sizeOf': async (now) => !!(await messages.sizeOf(inbox.id, messageId, now)),
    'messages.readRaw': async (now) => !!(await messages.readRaw(inbox.id, messageId, 0, now)),
  };
}
