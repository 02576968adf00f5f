import { LRUCache } from 'lru-cache';
import type { InboxRecord, MessageStore, UnreadMessage } from '../store/contract/index.ts';

/** Some hundred inboxes that are polled now, with a page of messages each. */
const KEPT_BYTES = 8 * 1024 * 1024;
/** Of a message beside its summary: ids, numbers, and what the runtime needs to hold them. */
const MESSAGE_OVERHEAD_BYTES = 200;

/** A stretch of an inbox's messages without a gap, from the newest downwards. */
interface Stretch {
  /** Of the inbox, when it was read. */
  version: number;
  /** Every message with a later `receivedAt` is here. */
  floor: number;
  messages: UnreadMessage[];
}

/** The newest messages of inboxes that are read again and again, whatever each reader has seen so far. */
export interface Newest {
  /**
   * Messages with `after < receivedAt <= inbox.lastReceivedAt`, newest first, at most `limit`.
   * @param inbox live, read before this call
   */
  list(inbox: InboxRecord, after: number, limit: number, now: number): Promise<UnreadMessage[]>;
}

export function createNewest(messages: () => Pick<MessageStore, 'listUnread'>): Newest {
  const stretches = new LRUCache<string, Stretch>({
    maxSize: KEPT_BYTES,
    sizeCalculation: (stretch) =>
      stretch.messages.reduce((sum, { summary }) => sum + summary.length + MESSAGE_OVERHEAD_BYTES, 1),
  });
  return {
    async list(inbox, after, limit, now) {
      const known = stretches.get(inbox.id);
      // A version grows with every change, so under the same one nothing came and nothing went.
      if (known?.version === inbox.version) {
        const asked = known.messages.findIndex(({ receivedAt }) => receivedAt <= after);
        const length = asked < 0 ? known.messages.length : asked;
        if (after >= known.floor || length >= limit) return known.messages.slice(0, Math.min(length, limit));
      }
      const range = { after, before: inbox.lastReceivedAt + 1, limit };
      const found = await messages().listUnread(inbox.id, range, now);
      const last = found.at(-1);
      const floor = last && found.length >= limit ? last.receivedAt - 1 : after;
      const isLonger = known?.version !== inbox.version || floor < known.floor;
      if (isLonger) stretches.set(inbox.id, { version: inbox.version, floor, messages: found });
      return found;
    },
  };
}
