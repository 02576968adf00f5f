import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../clock.ts';
import { isOutside, sourceKey } from '../../connection-limiter.ts';
import type { MailAuthentication, MailEnvelope } from '../../mail/mail.ts';
import { buffersToGive, YOUNG_HEAP_MB } from '../../memory.ts';
import type { CheckerData, FromChecker, ToChecker } from './worker.ts';

/** Time limit of a check: parsed content is stored only after it. Name servers usually reply much faster. */
export const CHECK_TIME_LIMIT_MS = 2_000;
/** The main thread requests partial results this long before the time limit. */
export const HURRY_MS = 200;
/** Limit of concurrent checks, which mostly wait for name servers. Above it, the result is `temperror`. */
const MAX_CHECKS = 200;
/** Limit of concurrent checks per sending host: allows 500 messages per second if a check takes 100 ms. */
export const MAX_CHECKS_PER_SOURCE = 50;
/** Limit of the bytes of all messages that are being checked. Enough for the largest message. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Limit of these bytes per sending host, unless only one of its messages is being checked. */
export const MAX_BYTES_PER_SOURCE = 24 * 1024 * 1024;
/** Limit of the thread's JavaScript heap, MiB. The libraries take 20, and the DNS cache takes a few. */
const HEAP_MB = 96;
/** Time after which the idle thread is ended, because it holds tens of MiB. */
const IDLE_MS = 60_000;

const NOT_IN_TIME: MailAuthentication = { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' };

export interface AuthenticatorOptions {
  clock: Clock;
  /** Name servers as `address` or `address:port`; null for the name servers of the machine. */
  dnsServers: readonly string[] | null;
  /** Called when the thread was terminated or has ended unexpectedly. */
  onThreadLost(error: Error): void;
  onChecked?(found: MailAuthentication): void;
  workerEntry?: URL;
  limits?: { checks?: number; bytes?: number };
}

interface Check {
  bytes: number;
  source: string;
  settle(found: MailAuthentication): void;
  over: AbortController;
}

interface Thread {
  worker: Worker;
  messages: number;
}

const bytesOf = (checks: readonly Check[]): number => checks.reduce((sum, { bytes }) => sum + bytes, 0);

/** Checks senders on a thread, which starts with the first mail from another machine and ends when idle. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #checks = new Map<number, Check>();
  #thread: Thread | undefined;
  #lastId = 0;
  #isClosed = false;
  #idle = new AbortController();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  get checks(): number {
    return this.#checks.size;
  }

  get running(): boolean {
    return this.#thread !== undefined;
  }

  /**
   * Never rejects. Results that are missing after {@link CHECK_TIME_LIMIT_MS} are `temperror`.
   * @param raw the mail, with or without this server's Received line. Large bytes are transferred
   * @returns null for mail from this machine
   */
  async check(envelope: MailEnvelope, raw: Uint8Array): Promise<MailAuthentication | null> {
    if (!isOutside(envelope.remoteAddress)) return null;
    const found = await this.#examine(envelope, raw);
    this.#options.onChecked?.(found);
    return found;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#endThread();
  }

  async #examine({ mailFrom, helo, remoteAddress }: MailEnvelope, raw: Uint8Array) {
    const { promise, resolve: settle } = Promise.withResolvers<MailAuthentication>();
    const over = new AbortController();
    const check: Check = { source: sourceKey(remoteAddress), bytes: raw.length, settle, over };
    if (this.#isClosed || !this.#mayCheck(check)) return NOT_IN_TIME;
    const id = ++this.#lastId;
    this.#checks.set(id, check);
    this.#idle.abort();
    this.#thread ??= this.#startThread();
    const message: ToChecker = { id, mailFrom, helo, remoteAddress, raw };
    this.#thread.worker.postMessage(message, buffersToGive([raw]));
    void this.#watch(this.#thread, id, check);
    return promise;
  }

  #mayCheck({ source, bytes }: Check): boolean {
    const { checks: maxChecks = MAX_CHECKS, bytes: maxBytes = MAX_BYTES } = this.#options.limits ?? {};
    const all = [...this.#checks.values()];
    if (all.length >= maxChecks || bytesOf(all) + bytes > maxBytes) return false;
    const own = all.filter((check) => check.source === source);
    if (own.length === 0) return true;
    return own.length < MAX_CHECKS_PER_SOURCE && bytesOf(own) + bytes <= MAX_BYTES_PER_SOURCE;
  }

  #startThread(): Thread {
    const workerData: CheckerData = { servers: this.#options.dnsServers };
    const worker = new Worker(this.#options.workerEntry ?? new URL('./worker.ts', import.meta.url), {
      workerData,
      name: 'sender checks',
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
    });
    const thread: Thread = { worker, messages: 0 };
    worker.on('message', (message: FromChecker) => {
      thread.messages++;
      if (message !== 'ready') this.#finish(message.id, message.found);
    });
    worker.on('error', (error) => this.#lose(thread, error));
    worker.on('exit', () => this.#lose(thread, new Error('The thread ended by itself.')));
    return thread;
  }

  #finish(id: number, found: MailAuthentication): void {
    const check = this.#checks.get(id);
    this.#checks.delete(id);
    check?.settle(found);
    check?.over.abort();
    if (this.#checks.size === 0) void this.#endWhenIdle();
  }

  async #endThread(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    for (const id of [...this.#checks.keys()]) this.#finish(id, NOT_IN_TIME);
    this.#idle.abort();
    await thread?.worker.terminate();
  }

  #lose(thread: Thread, error: Error): void {
    if (this.#thread !== thread) return;
    void this.#endThread();
    this.#options.onThreadLost(error);
  }

  async #endWhenIdle(): Promise<void> {
    this.#idle.abort();
    this.#idle = new AbortController();
    const { signal } = this.#idle;
    await this.#options.clock.sleep(IDLE_MS, signal);
    if (!signal.aborted) await this.#endThread();
  }

  /** Requests partial results shortly before the time limit. Terminates the thread if it does not respond. */
  async #watch(thread: Thread, id: number, { over: { signal }, settle }: Check): Promise<void> {
    const { clock } = this.#options;
    await clock.sleep(CHECK_TIME_LIMIT_MS - HURRY_MS, signal);
    if (signal.aborted) return;
    thread.worker.postMessage({ hurry: id } satisfies ToChecker);
    let before: number;
    do {
      before = thread.messages;
      await clock.sleep(HURRY_MS, signal);
      // This main thread may have been blocked too. Let it first handle messages that have already arrived.
      await nextTurn();
      settle(NOT_IN_TIME);
      // A thread that sends messages, or that is still starting, is not blocked.
    } while (!signal.aborted && (thread.messages === 0 || thread.messages !== before));
    if (!signal.aborted) this.#lose(thread, new Error('A message kept the thread busy for too long.'));
  }
}
