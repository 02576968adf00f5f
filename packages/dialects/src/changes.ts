/** What one client changed, for others that follow the same mailbox on this server. */
export interface Change {
  Type: 'update' | 'delete' | 'truncate' | 'prune';
  Data: { ID: string; Read?: boolean; Tags?: string[] } | null;
}

/** Whose mailbox: of an account, or of the one inbox of a read token. */
export interface Owner {
  accountId: string;
  inboxId: string | undefined;
}

/** Passes on changes between the clients of one server. */
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
    /** @returns what ends the subscription */
    subscribe(of: Owner, listener: (change: Change) => void): () => void {
      const one = { of, listener };
      listeners.add(one);
      return () => listeners.delete(one);
    },
  };
}
