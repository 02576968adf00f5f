/** A change made by one client, for other clients that follow the same mailbox on this server. */
export interface Change {
  Type: 'update' | 'delete' | 'truncate' | 'prune';
  Data: { ID: string; Read?: boolean; Tags?: string[] } | null;
}

/** Owner of a mailbox: an account, or the one inbox of a read token. */
export interface Owner {
  accountId: string;
  inboxId: string | undefined;
}

/** Publishes changes to the other clients of the same server. */
export function createChanges() {
  const listeners = new Set<{ of: Owner; listener: (change: Change) => void }>();
  return {
    publish(by: Owner, change: Change): void {
      const inboxId = by.inboxId ?? change.Data?.ID.split('-')[1];
      for (const { of, listener } of listeners) {
        const isOfInbox = of.inboxId === undefined || inboxId === undefined || of.inboxId === inboxId;
        if (of.accountId === by.accountId && isOfInbox) listener(change);
      }
    },
    /** @returns a function that ends the subscription */
    subscribe(of: Owner, listener: (change: Change) => void): () => void {
      const one = { of, listener };
      listeners.add(one);
      return () => listeners.delete(one);
    },
  };
}
