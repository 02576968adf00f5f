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
  /** Calls `listener` for each later message of the inbox, and at its end or a change of its expiry, until the returned function is called. */
  onMessage(inboxId: string, listener: () => void): () => void;
  /** Calls `listener` for each later message of the account until the returned function is called. */
  onAccountMessage(accountId: string, listener: () => void): () => void;
  /** Calls `listener` for each later message of any inbox until the returned function is called. */
  onAnyMessage(listener: (news: MessageNews) => void): () => void;
  /** Calls `listener` whenever webhook deliveries became due, until the returned function is called. */
  onDeliveries(listener: () => void): () => void;
  /** Tells that webhook deliveries became due. */
  announceDeliveries(): void;
  /** Tells the listeners of an inbox that it ended or that its expiry changed: their wait may be over. */
  announceChange(inboxId: string): void;
  /** Tells all listeners; a listener that throws is the caller's defect and reaches it. */
  announce(news: MessageNews): void;
}

/** Listeners to something that has an id; nothing is kept of an id without any. */
function createListeners() {
  const byId = new Map<string, Set<() => void>>();
  return {
    add(id: string, listener: () => void): () => void {
      const listeners = byId.get(id) ?? new Set();
      byId.set(id, listeners.add(listener));
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0 && byId.get(id) === listeners) byId.delete(id);
      };
    },
    tell(id: string): void {
      for (const listener of [...(byId.get(id) ?? [])]) listener();
    },
  };
}

export function createNews(): News {
  const byInbox = createListeners();
  const byAccount = createListeners();
  const everywhere = new Set<(news: MessageNews) => void>();
  const ofDeliveries = new Set<() => void>();
  return {
    onMessage: byInbox.add,
    onAccountMessage: byAccount.add,
    onAnyMessage(listener) {
      everywhere.add(listener);
      return () => everywhere.delete(listener);
    },
    onDeliveries(listener) {
      ofDeliveries.add(listener);
      return () => ofDeliveries.delete(listener);
    },
    announceDeliveries() {
      for (const listener of [...ofDeliveries]) listener();
    },
    announceChange: byInbox.tell,
    announce(news) {
      byInbox.tell(news.inboxId);
      byAccount.tell(news.accountId);
      for (const listener of [...everywhere]) listener(news);
    },
  };
}
