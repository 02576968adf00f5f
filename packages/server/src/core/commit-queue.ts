import type { Clock } from '../clock.ts';
import type { MessageStore, NewMail, Placed } from '../store/store.ts';

/** Mails in one transaction: past a hundred the cost a mail no longer falls, and the wait grows. */
const MAX_BATCH_MAILS = 128;
/** Bytes in one transaction: a batch of large mails must not hold up the small ones behind it. */
const MAX_BATCH_BYTES = 16 * 1024 * 1024;

/** Group commit: while one transaction runs, the next batch gathers, so all who wait share its fsync. */
export interface CommitQueue {
  /** Resolves when the mail is on stable storage, with what became of each recipient. */
  add(mail: NewMail): Promise<Placed[]>;
  /** Resolves when nothing is waiting any more. */
  drained(): Promise<void>;
}

interface Waiting {
  mail: NewMail;
  resolve(placed: Placed[]): void;
  reject(error: unknown): void;
}

export function createCommitQueue(messages: Pick<MessageStore, 'addBatch'>, clock: Clock): CommitQueue {
  let waiting: Waiting[] = [];
  let running: Promise<void> | null = null;

  const nextBatch = (): Waiting[] => {
    let bytes = 0;
    let end = 0;
    for (const { mail } of waiting) {
      bytes += mail.raw.byteLength;
      if (end > 0 && (end === MAX_BATCH_MAILS || bytes > MAX_BATCH_BYTES)) break;
      end++;
    }
    const batch = waiting.slice(0, end);
    waiting = waiting.slice(end);
    return batch;
  };

  const commit = async (batch: Waiting[]): Promise<void> => {
    try {
      const placed = await messages.addBatch(
        batch.map(({ mail }) => mail),
        clock.now(),
      );
      batch.forEach(({ resolve }, index) => {
        resolve(placed[index] ?? []);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  };

  const run = async (): Promise<void> => {
    while (waiting.length > 0) await commit(nextBatch());
    running = null;
  };

  return {
    add: (mail) =>
      new Promise((resolve, reject) => {
        waiting.push({ mail, resolve, reject });
        running ??= run();
      }),
    drained: async () => {
      while (running) await running;
    },
  };
}
