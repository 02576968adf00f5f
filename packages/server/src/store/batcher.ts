import type { MessageStore, NewMail, Placed } from './contract/index.ts';

/** Messages in one batch: beyond about a hundred, the cost per message no longer falls and latency grows. */
const MAX_MAILS = 128;
/** Bytes in one batch: about 20 ms of writing, for which the small messages behind it wait. */
const MAX_BYTES = 4 * 1024 * 1024;
/** Calls with so few bytes do not wait behind larger ones. */
const SMALL_BYTES = 64 * 1024;

type AddBatch = MessageStore['addBatch'];

interface Call {
  mails: NewMail[];
  now: number;
  resolve(placed: Placed[][]): void;
  reject(error: unknown): void;
}

const bytesOf = ({ mails }: Call): number =>
  mails.reduce((sum, { raw, content }) => sum + raw.byteLength + content.byteLength, 0);
const isSmall = (call: Call): boolean => bytesOf(call) <= SMALL_BYTES;

/** Takes the calls that fit into one batch out of the waiting ones; at least one. */
function takeBatch(waiting: Call[], candidates: readonly Call[]): Call[] {
  let mails = 0;
  let bytes = 0;
  const end = candidates.findIndex((call, index) => {
    mails += call.mails.length;
    bytes += bytesOf(call);
    return index > 0 && (mails > MAX_MAILS || bytes > MAX_BYTES);
  });
  const taken = new Set(end < 0 ? candidates : candidates.slice(0, end));
  waiting.splice(0, waiting.length, ...waiting.filter((call) => !taken.has(call)));
  return [...taken];
}

/**
 * Group commit, above any engine: calls that arrive while a batch is written are joined into the next one,
 * and share its transaction and its sync to the disk. Small messages share no batch with large ones.
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

  /** The small calls and the others in turn, where both wait. */
  async function writeAll(): Promise<void> {
    let wasSmall = false;
    while (waiting.length > 0) {
      const small = waiting.filter(isSmall);
      const isMixed = small.length > 0 && small.length < waiting.length;
      wasSmall = isMixed ? !wasSmall : small.length > 0;
      const candidates = wasSmall ? small : waiting.filter((call) => !isSmall(call));
      await write(takeBatch(waiting, candidates));
    }
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
