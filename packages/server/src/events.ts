export interface MessageReceived {
  accountId: string;
  inboxId: string;
}

/**
 * Events inside one process, published after the commit. They are hints to read the store again; a lost event only
 * causes a delay. Subscribe before the query, so that nothing is missed. All `on…` methods return a function that
 * ends the subscription.
 */
export interface EventBus {
  /** Called for each message of the inbox, and when the inbox ends or its expiry changes. */
  onMessage(inboxId: string, listener: () => void): () => void;
  onAccountMessage(accountId: string, listener: () => void): () => void;
  onAnyMessage(listener: (received: MessageReceived) => void): () => void;
  onDeliveries(listener: () => void): () => void;
  publishDeliveries(): void;
  /** Call when an inbox ends or its expiry changes: waits on it may end. */
  publishInboxChange(inboxId: string): void;
  /** Throws what a listener throws. */
  publish(received: MessageReceived): void;
  /** Calls all listeners, because anything may have changed. */
  publishAll(): void;
  subscribed(): { inboxes: string[]; accounts: string[] };
}

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
