import type { MessageStore, NewMail, Placed } from './contract/index.ts';

/** Messages in one batch: beyond about a hundred, the cost per message no longer falls and latency grows. */
const MAX_MAILS = 128;
/** Bytes in one batch: large messages must not delay the small ones behind them. */
const MAX_BYTES = 16 * 1024 * 1024;

type AddBatch = MessageStore['addBatch'];

interface Call {
  mails: NewMail[];
  now: number;
  resolve(placed: Placed[][]): void;
  reject(error: unknown): void;
}

/** Takes the calls that fit into one batch; at least one. */
function takeBatch(waiting: Call[]): Call[] {
  let mails = 0;
  let bytes = 0;
  const end = waiting.findIndex((call, index) => {
    mails += call.mails.length;
    bytes += call.mails.reduce((sum, { raw }) => sum + raw.byteLength, 0);
    return index > 0 && (mails > MAX_MAILS || bytes > MAX_BYTES);
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

/**
 * Group commit, above any engine: calls that arrive while a batch is written are joined into the next one,
 * and share its transaction and its sync to the disk.
 * @param addBatch writes one batch in one transaction
 * @param mayDependOnContent true for errors after which each call of the batch is tried alone
 */
export function createMailBatcher(
  addBatch: AddBatch,
  mayDependOnContent: (error: unknown) => boolean,
): AddBatch {
  const waiting: Call[] = [];
  let running = false;

  async function write(calls: readonly Call[]): Promise<void> {
    try {
      const now = Math.max(...calls.map((call) => call.now));
      const placed = await addBatch(
        calls.flatMap(({ mails }) => mails),
        now,
      );
      for (const { mails, resolve } of calls) resolve(placed.splice(0, mails.length));
    } catch (error) {
      if (calls.length > 1 && mayDependOnContent(error)) {
        for (const call of calls) await write([call]);
      } else {
        // The calls behind it would wait as long, for the same error.
        for (const { reject } of [...calls, ...waiting.splice(0)]) reject(error);
      }
    }
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0) await write(takeBatch(waiting));
    running = false;
  }

  return (mails, now) =>
    new Promise((resolve, reject) => {
      waiting.push({ mails, now, resolve, reject });
      if (running) return;
      running = true;
      // After the other calls of this turn.
      queueMicrotask(() => void writeAll());
    });
}
