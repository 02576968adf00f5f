import { LRUCache } from 'lru-cache';
import type { InboxRecord } from '../inboxes/records.ts';
import type { Store } from '../store.ts';
import type { MessageRow } from './records.ts';

/** Enough for a page for each of some hundred inboxes that are polled at the same time. */
const KEPT_BYTES = 8 * 1024 * 1024;
/** Ids, numbers and object headers. */
const MESSAGE_OVERHEAD_BYTES = 200;

/** The newest messages of an inbox, without a gap. */
interface Stretch {
  version: number;
  /** Every message with a later `receivedAt` is included. */
  floor: number;
  messages: MessageRow[];
}

export type Newest = ReturnType<typeof createNewest>;

/** Caches the newest messages of polled inboxes, for clients with different `since` values. */
export function createNewest(messages: () => Pick<Store['messages'], 'listRows'>) {
  const stretches = new LRUCache<string, Stretch>({
    maxSize: KEPT_BYTES,
    sizeCalculation: (stretch) =>
      stretch.messages.reduce((sum, { summary }) => sum + summary.length + MESSAGE_OVERHEAD_BYTES, 1),
  });
  return {
    /** Messages with `after < receivedAt <= inbox.lastReceivedAt`, newest first. @param inbox a live one */
    async list(inbox: InboxRecord, after: number, limit: number, now: number): Promise<MessageRow[]> {
      const known = stretches.get(inbox.id);
      // The version grows with every change, so an equal version means equal messages.
      if (known?.version === inbox.version) {
        const asked = known.messages.findIndex(({ receivedAt }) => receivedAt <= after);
        const length = asked < 0 ? known.messages.length : asked;
        if (after >= known.floor || length >= limit) return known.messages.slice(0, Math.min(length, limit));
      }
      const range = { after, before: inbox.lastReceivedAt + 1, limit };
      const found = await messages().listRows(inbox.id, range, now);
      const last = found.at(-1);
      const floor = last && found.length >= limit ? last.receivedAt - 1 : after;
      const isLonger = known?.version !== inbox.version || floor < known.floor;
      if (isLonger) stretches.set(inbox.id, { version: inbox.version, floor, messages: found });
      return found;
    },
  };
}
