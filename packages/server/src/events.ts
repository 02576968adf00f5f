function createListeners() {
  const byId = new Map<string, Set<() => void>>();
  return {
    /** @returns a function that ends the subscription */
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

/** Events within a process, published after the commit. Subscribe before you query the store, or you may miss one. */
export function createEventBus() {
  const [byInbox, byAccount, ofDeliveries] = [createListeners(), createListeners(), createListeners()];
  return {
    /** Calls the listener for each message of the inbox, and when the inbox is deleted or its expiry changes. */
    onMessage: byInbox.add,
    onAccountMessage: byAccount.add,
    onDeliveries: (listener: () => void) => ofDeliveries.add('', listener),
    publishDeliveries: () => ofDeliveries.notify(''),
    publishInboxChange: byInbox.notify,
    publish({ accountId, inboxId }: { accountId: string; inboxId: string }): void {
      byInbox.notify(inboxId);
      byAccount.notify(accountId);
    },
    publishAll(): void {
      for (const { ids, notify } of [byInbox, byAccount, ofDeliveries]) ids().forEach(notify);
    },
    subscribed: () => ({ inboxes: byInbox.ids(), accounts: byAccount.ids() }),
  };
}
