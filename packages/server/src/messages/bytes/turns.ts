/**
 * Shares a number of slots among accounts: an account has at most all but one of them at a time, and accounts whose
 * work is queued take turns. So whatever one account asks for, another one waits for no more than its own work.
 * @param slots how much work runs at once
 */
export function createTurns(slots: number) {
  const running = new Map<string, number>();
  /** The account whose turn is next comes first. */
  const queues = new Map<string, (() => void)[]>();
  let free = slots;

  const count = (accountId: string, by: 1 | -1): void => {
    const left = (running.get(accountId) ?? 0) + by;
    if (left === 0) running.delete(accountId);
    else running.set(accountId, left);
    free -= by;
  };

  const startNext = (): void => {
    for (const [accountId, queue] of queues) {
      if (free === 0) return;
      if ((running.get(accountId) ?? 0) >= slots - 1) continue;
      const start = queue.shift();
      queues.delete(accountId);
      if (queue.length > 0) queues.set(accountId, queue);
      count(accountId, 1);
      start?.();
    }
  };

  return async <T>(accountId: string, work: () => Promise<T>): Promise<T> => {
    await new Promise<void>((resolve) => {
      queues.set(accountId, [...(queues.get(accountId) ?? []), resolve]);
      startNext();
    });
    try {
      return await work();
    } finally {
      count(accountId, -1);
      startNext();
    }
  };
}
