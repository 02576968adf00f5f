/** What one client changed, for others that follow the same mailbox on this server. */
export type Change =
  | { Type: 'update'; Data: { ID: string; Read?: boolean; Tags?: string[] } }
  | { Type: 'delete'; Data: { ID: string } }
  | { Type: 'truncate' | 'prune'; Data: null };

/** Whose mailbox: of an account, or of the one inbox of a read token. */
export interface Owner {
  accountId: string;
  inboxId: string | undefined;
}

type Listener = (change: Change) => void;

/** Passes on changes between the clients of one server. */
export function createChanges() {
  const listeners = new Set<{ of: Owner; listener: Listener }>();
  return {
    publish(by: Owner, change: Change): void {
      for (const { of, listener } of listeners) if (isSeen(of, by, change)) listener(change);
    },
    /** @returns what ends the subscription */
    subscribe(of: Owner, listener: Listener): () => void {
      const one = { of, listener };
      listeners.add(one);
      return () => listeners.delete(one);
    },
  };
}

function isSeen(of: Owner, by: Owner, { Data }: Change): boolean {
  if (of.accountId !== by.accountId) return false;
  if (of.inboxId === undefined || of.inboxId === by.inboxId) return true;
  return Data === null ? by.inboxId === undefined : Data.ID.endsWith(`-${of.inboxId}`);
}
