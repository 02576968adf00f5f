/**
 * News inside one process, told after the commit. It is only a hint to look again: the store is the
 * truth, so a listener that missed one loses time and nothing else.
 */
export interface MessageNews {
  accountId: string;
  inboxId: string;
}

/** Subscribe before the query, query, then wait: in that order nothing slips between. */
export interface News {
  /** Calls `listener` for each later message of the inbox until the returned function is called. */
  onMessage(inboxId: string, listener: () => void): () => void;
  /** Calls `listener` for each later message of any inbox until the returned function is called. */
  onAnyMessage(listener: (news: MessageNews) => void): () => void;
  /** Tells all listeners; a listener that throws is the caller's defect and reaches it. */
  announce(news: MessageNews): void;
}

export function createNews(): News {
  const byInbox = new Map<string, Set<() => void>>();
  const everywhere = new Set<(news: MessageNews) => void>();
  return {
    onMessage(inboxId, listener) {
      const listeners = byInbox.get(inboxId) ?? new Set();
      byInbox.set(inboxId, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && byInbox.get(inboxId) === listeners) byInbox.delete(inboxId);
      };
    },
    onAnyMessage(listener) {
      everywhere.add(listener);
      return () => everywhere.delete(listener);
    },
    announce(news) {
      for (const listener of [...(byInbox.get(news.inboxId) ?? [])]) listener();
      for (const listener of [...everywhere]) listener(news);
    },
  };
}
