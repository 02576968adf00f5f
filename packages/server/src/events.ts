export interface MessageReceived {
  accountId: string;
  inboxId: string;
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

export type EventBus = ReturnType<typeof createEventBus>;

/**
 * Events inside one process, published after the commit. They are hints to read the store again; a lost event only
 * causes a delay. Subscribe before the query, so that nothing is missed. All `on…` methods return a function that
 * ends the subscription.
 */
export function createEventBus() {
  const byInbox = createListeners();
  const byAccount = createListeners();
  const ofDeliveries = new Set<() => void>();
  return {
    /** Called for each message of the inbox, and when the inbox ends or its expiry changes. */
    onMessage: byInbox.add,
    onAccountMessage: byAccount.add,
    onDeliveries(listener: () => void): () => void {
      ofDeliveries.add(listener);
      return () => ofDeliveries.delete(listener);
    },
    publishDeliveries(): void {
      for (const listener of [...ofDeliveries]) listener();
    },
    publishInboxChange: byInbox.notify,
    publish(received: MessageReceived): void {
      byInbox.notify(received.inboxId);
      byAccount.notify(received.accountId);
    },
    publishAll(): void {
      for (const id of byInbox.ids()) byInbox.notify(id);
      for (const id of byAccount.ids()) byAccount.notify(id);
      for (const listener of [...ofDeliveries]) listener();
    },
    subscribed: () => ({ inboxes: byInbox.ids(), accounts: byAccount.ids() }),
  };
}
