import type { ReadingOf } from '../reading/sql.ts';
import { Batcher, takeBatch } from '../workers/batcher.ts';
import type { NewMail, Placed } from './records.ts';

/** Calls up to this size do not wait behind larger ones. */
const SMALL_BYTES = 64 * 1024;

type AddBatch = (mails: NewMail[], now: number) => Promise<Placed[][]>;
/** Returns how many deliveries became due. */
type Keep = (readings: ReadingOf[]) => Promise<number>;

interface Call {
  mails: NewMail[];
  now: number;
  isWritten: boolean;
  done: PromiseWithResolvers<Placed[][]>;
}

const sizeOf = ({ mails }: Call): number => mails.reduce((sum, { raw }) => sum + raw.byteLength, 0);
const lengthOf = ({ mails }: Call): number => mails.length;

/** Batches of one lane are written one after the other. */
interface Lane {
  waiting: Call[];
  running: boolean;
}

/**
 * Group commit: calls that arrive while a batch is written are joined into the next one, and share its transaction and
 * its sync. Small messages do not share batches with large ones; both are written at the same time.
 */
export class MailBatcher {
  readonly #addBatch: AddBatch;
  readonly #mayDependOnContent: (error: unknown) => boolean;
  readonly #small: Lane = { waiting: [], running: false };
  readonly #large: Lane = { waiting: [], running: false };
  /** Calls by the sources of their mails, until they are done. */
  readonly #calls = new Map<number, Call>();

  /** @param mayDependOnContent true for errors after which each call of a batch is tried alone */
  constructor(addBatch: AddBatch, mayDependOnContent: (error: unknown) => boolean) {
    this.#addBatch = addBatch;
    this.#mayDependOnContent = mayDependOnContent;
  }

  add(mails: NewMail[], now: number): Promise<Placed[][]> {
    const call: Call = { mails, now, isWritten: false, done: Promise.withResolvers() };
    const lane = sizeOf(call) <= SMALL_BYTES ? this.#small : this.#large;
    lane.waiting.push(call);
    for (const { source } of mails) this.#calls.set(source, call);
    if (!lane.running) {
      lane.running = true;
      // After the other calls of this turn.
      queueMicrotask(() => void this.#writeAll(lane));
    }
    return call.done.promise;
  }

  /** Stores a mail by another operation. Its reading waits until that has ended, as that of a mail in a batch. */
  async alone<T>(source: number, store: () => Promise<T>): Promise<T> {
    const done: Call['done'] = Promise.withResolvers();
    this.#calls.set(source, { mails: [], now: 0, isWritten: true, done });
    try {
      return await store();
    } finally {
      this.#calls.delete(source);
      done.resolve([]);
    }
  }

  /** Stores readings together: those of mails that wait with their mails, the others after a batch in progress. */
  keeping(keep: Keep): Keep {
    const batcher = new Batcher(
      async (all: ReadingOf[]) => {
        const due = await keep(all);
        return all.map((_, index) => (index === 0 ? due : 0));
      },
      { bytesOf: ({ content }) => content.length },
    );
    const keepOne = async (reading: ReadingOf): Promise<number> => {
      const call = this.#calls.get(reading.source);
      const mail = call?.isWritten ? undefined : call?.mails.find(({ source }) => source === reading.source);
      if (mail) mail.reading = reading;
      // What the call throws is told to its caller; a source that is not there is dropped.
      await call?.done.promise.catch(() => undefined);
      return mail ? 0 : batcher.add(reading);
    };
    return async (all) => (await Promise.all(all.map(keepOne))).reduce((sum, due) => sum + due, 0);
  }

  async #writeAll(lane: Lane): Promise<void> {
    while (lane.waiting.length > 0) await this.#write(takeBatch(lane.waiting, sizeOf, lengthOf));
    lane.running = false;
  }

  async #write(calls: readonly Call[]): Promise<void> {
    const mails = calls.flatMap((call) => call.mails);
    const now = Math.max(...calls.map((call) => call.now));
    for (const call of calls) call.isWritten = true;
    try {
      const placed = await this.#addBatch(mails, now);
      for (const call of calls) this.#end(call).resolve(placed.splice(0, call.mails.length));
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
    for (const call of failed) this.#end(call).reject(error);
  }

  #end({ mails, done }: Call): Call['done'] {
    for (const { source } of mails) this.#calls.delete(source);
    return done;
  }
}
