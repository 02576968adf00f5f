/** A message that was committed. */
export interface MessageReceived {
  accountId: string;
  inboxId: string;
}

/**
 * Events inside one process, published after the commit. An event only says that reading the store again is
 * worthwhile: the store decides, so a lost event costs time and nothing else. Subscribe before the query, so
 * that nothing is missed between the query and the wait.
 */
export interface EventBus {
  /**
   * Calls `listener` for each later message of the inbox, and when the inbox ends or its expiry changes.
   * @returns a function that ends the subscription
   */
  onMessage(inboxId: string, listener: () => void): () => void;
  /** Calls `listener` for each later message of the account, until the returned function is called. */
  onAccountMessage(accountId: string, listener: () => void): () => void;
  /** Calls `listener` for each later message of any inbox, until the returned function is called. */
  onAnyMessage(listener: (received: MessageReceived) => void): () => void;
  /** Calls `listener` whenever webhook deliveries became due, until the returned function is called. */
  onDeliveries(listener: () => void): () => void;
  /** Publishes that webhook deliveries became due. */
  publishDeliveries(): void;
  /** Publishes that an inbox ended or that its expiry changed: waits on it may be over. */
  publishInboxChange(inboxId: string): void;
  /** Publishes a message to all listeners. What a listener throws reaches the caller. */
  publish(received: MessageReceived): void;
  /** Publishes to all listeners that anything may have changed. */
  publishAll(): void;
  /** Ids of the inboxes and accounts with listeners. */
  subscribed(): { inboxes: string[]; accounts: string[] };
}

/** Listeners by id; an id without listeners takes no memory. */
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
    notify(id: string): void {
      for (const listener of [...(byId.get(id) ?? [])]) listener();
    },
    ids: (): string[] => [...byId.keys()],
  };
}

export function createEventBus(): EventBus {
  const byInbox = createListeners();
  const byAccount = createListeners();
  const ofAnyMessage = new Set<(received: MessageReceived) => void>();
  const ofDeliveries = new Set<() => void>();
  return {
    onMessage: byInbox.add,
    onAccountMessage: byAccount.add,
    onAnyMessage(listener) {
      ofAnyMessage.add(listener);
      return () => ofAnyMessage.delete(listener);
    },
    onDeliveries(listener) {
      ofDeliveries.add(listener);
      return () => ofDeliveries.delete(listener);
    },
    publishDeliveries() {
      for (const listener of [...ofDeliveries]) listener();
    },
    publishInboxChange: byInbox.notify,
    publish(received) {
      byInbox.notify(received.inboxId);
      byAccount.notify(received.accountId);
      for (const listener of [...ofAnyMessage]) listener(received);
    },
    publishAll() {
      for (const id of byInbox.ids()) byInbox.notify(id);
      for (const id of byAccount.ids()) byAccount.notify(id);
      for (const listener of [...ofDeliveries]) listener();
    },
    subscribed: () => ({ inboxes: byInbox.ids(), accounts: byAccount.ids() }),
  };
}
