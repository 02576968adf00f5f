import type { NewMail, Placed } from './records.ts';

/** Beyond about a hundred, the cost per message no longer falls and latency grows. */
const MAX_MAILS = 128;
/** About 10 ms of writing, during which others wait. A larger message is a batch of its own. */
const MAX_BYTES = 2 * 1024 * 1024;
/** Calls up to this size do not wait behind larger ones. */
const SMALL_BYTES = 64 * 1024;

type AddBatch = (mails: NewMail[], now: number) => Promise<Placed[][]>;

interface Call {
  mails: NewMail[];
  now: number;
  resolve(placed: Placed[][]): void;
  reject(error: unknown): void;
}

const bytesOf = ({ mails }: Call): number => mails.reduce((sum, { raw }) => sum + raw.byteLength, 0);

/** Takes at least one call. */
function takeBatch(waiting: Call[]): Call[] {
  let mails = 0;
  let bytes = 0;
  const end = waiting.findIndex((call, index) => {
    mails += call.mails.length;
    bytes += bytesOf(call);
    return index > 0 && (mails > MAX_MAILS || bytes > MAX_BYTES);
  });
  return waiting.splice(0, end < 0 ? waiting.length : end);
}

/** Batches of one lane are written one after the other. */
interface Lane {
  waiting: Call[];
  running: boolean;
}

class MailBatcher {
  readonly #addBatch: AddBatch;
  readonly #mayDependOnContent: (error: unknown) => boolean;
  readonly #small: Lane = { waiting: [], running: false };
  readonly #large: Lane = { waiting: [], running: false };

  constructor(addBatch: AddBatch, mayDependOnContent: (error: unknown) => boolean) {
    this.#addBatch = addBatch;
    this.#mayDependOnContent = mayDependOnContent;
  }

  add(mails: NewMail[], now: number): Promise<Placed[][]> {
    return new Promise((resolve, reject) => {
      const call = { mails, now, resolve, reject };
      const lane = bytesOf(call) <= SMALL_BYTES ? this.#small : this.#large;
      lane.waiting.push(call);
      if (lane.running) return;
      lane.running = true;
      // After the other calls of this turn.
      queueMicrotask(() => void this.#writeAll(lane));
    });
  }

  async #writeAll(lane: Lane): Promise<void> {
    while (lane.waiting.length > 0) await this.#write(takeBatch(lane.waiting));
    lane.running = false;
  }

  async #write(calls: readonly Call[]): Promise<void> {
    const mails = calls.flatMap((call) => call.mails);
    const now = Math.max(...calls.map((call) => call.now));
    try {
      const placed = await this.#addBatch(mails, now);
      for (const call of calls) call.resolve(placed.splice(0, call.mails.length));
    } catch (error) {
      await this.#afterFailure(calls, error);
    }
  }

  async #afterFailure(calls: readonly Call[], error: unknown): Promise<void> {
    const isStorage = !this.#mayDependOnContent(error);
    if (calls.length > 1 && !isStorage) {
      for (const call of calls) await this.#write([call]);
      return;
    }
    // The calls that wait would fail with the same error, after the same time.
    const failed = isStorage
      ? [...calls, ...this.#small.waiting.splice(0), ...this.#large.waiting.splice(0)]
      : calls;
    for (const { reject } of failed) reject(error);
  }
}

/**
 * Group commit: calls that arrive while a batch is written are joined into the next one, and share its transaction and
 * its sync. Small messages do not share batches with large ones; both are written at the same time.
 * @param mayDependOnContent true for errors after which each call of a batch is tried alone
 */
export function createMailBatcher(
  addBatch: AddBatch,
  mayDependOnContent: (error: unknown) => boolean,
): AddBatch {
  const batcher = new MailBatcher(addBatch, mayDependOnContent);
  return (mails, now) => batcher.add(mails, now);
}
