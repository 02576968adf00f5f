export type Turns = ReturnType<typeof createTurns>;

/**
 * Shares `slots` among accounts: one account has at most all but one of them, and accounts with queued work take
 * turns. So no account can delay the work of the others for long.
 */
export function createTurns(slots: number) {
  const running = new Map<string, number>();
  /** In the order of the turns. */
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
      const queue = queues.get(accountId);
      if (queue) queue.push(resolve);
      else queues.set(accountId, [resolve]);
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
