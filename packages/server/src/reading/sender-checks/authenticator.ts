import { setImmediate as nextTurn } from 'node:timers/promises';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../../clock.ts';
import type { MailAuthentication, MailEnvelope } from '../../mail/mail.ts';
import { copyInTurns, isLarge } from '../../memory.ts';
import { sourceKey } from '../../text/source-key.ts';
import { CheckThread } from './check-thread.ts';

/** A 250 waits so long for the check, not longer: name servers that answer do so in a fraction of it, milliseconds. */
export const CHECK_TIME_LIMIT_MS = 2_000;
/** The end of that time in which the thread returns what it has, instead of waiting for more, milliseconds. */
export const HURRY_MS = 200;
/**
 * Messages that are checked at once; further ones get `temperror`. Nearly all of the time they wait for name
 * servers.
 */
const MAX_CHECKS = 200;
/** The same of one source: a relay with 500 messages a second, and name servers that take 100 ms, needs no more. */
export const MAX_CHECKS_PER_SOURCE = 50;
/** Bytes of the messages that are checked at once, which are copies: room for one of the largest size. */
const MAX_BYTES = 64 * 1024 * 1024;
/** The same of one source, where it has more than one message. */
export const MAX_BYTES_PER_SOURCE = 24 * 1024 * 1024;
/** A thread without work ends after so long: it holds tens of MiB. */
const IDLE_MS = 60_000;

/** Nothing was found out in time. */
const NOT_IN_TIME: MailAuthentication = { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' };

export interface AuthenticatorOptions {
  clock: Clock;
  /** Name servers as `address` or `address:port`; null for the machine's own. */
  dnsServers: readonly string[] | null;
  /** Called when the thread had to be terminated, or ended by itself. */
  onThreadLost(error: Error): void;
  /** Called with the result of each message from outside, also with what was not found out in time. */
  onChecked?(found: MailAuthentication): void;
  /** For tests: another worker file, and other limits than the constants here. */
  workerEntry?: URL;
  limits?: { checks?: number; bytes?: number };
}

/** A message that the thread has. */
interface Check {
  bytes: number;
  source: string;
  settle(found: MailAuthentication): void;
  /** Aborted when the thread has answered, or is gone. */
  over: AbortController;
}

/** What is checked now, of all sources or of one. */
interface Load {
  checks: number;
  bytes: number;
}

/**
 * Checks senders on a thread of its own, which is started by the first message from outside and ended when none
 * came for a while: hashing bodies must not hold up the main thread.
 */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #checks = new Map<number, Check>();
  readonly #bySource = new Map<string, Load>();
  #thread: CheckThread | undefined;
  #lastId = 0;
  #bytes = 0;
  #isClosed = false;
  /** Aborted when the idle thread gets work, or ends. */
  #idle = new AbortController();

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
  }

  /** Messages that are being checked now. */
  get checks(): number {
    return this.#checks.size;
  }

  /** Whether the thread runs. */
  get running(): boolean {
    return this.#thread !== undefined;
  }

  /**
   * Checks the sender of a message from outside by SPF, DKIM and DMARC. Never rejects, and resolves within
   * {@link CHECK_TIME_LIMIT_MS}: what could not be found out until then is `temperror`. Null for mail of
   * this machine, which costs nothing.
   * @param received the message without our Received line; read until the call resolves
   * @param signal aborted when the result is not needed any more
   */
  async check(
    envelope: MailEnvelope,
    received: Uint8Array,
    signal?: AbortSignal,
  ): Promise<MailAuthentication | null> {
    if (!isOutside(envelope.remoteAddress)) return null;
    const found = await this.#examine(envelope, received, signal);
    this.#options.onChecked?.(found);
    return found;
  }

  /** Ends the thread; what it had not finished gets the result of messages whose time is over. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#endThread();
  }

  async #examine(
    mail: MailEnvelope,
    received: Uint8Array,
    signal: AbortSignal | undefined,
  ): Promise<MailAuthentication> {
    const source = sourceKey(mail.remoteAddress);
    const bytes = received.byteLength;
    if (this.#isClosed || signal?.aborted || !this.#hasRoom(source, bytes)) return NOT_IN_TIME;
    const id = ++this.#lastId;
    this.#count(source, { checks: 1, bytes });
    const { promise, resolve } = Promise.withResolvers<MailAuthentication>();
    const check: Check = { bytes, source, settle: resolve, over: new AbortController() };
    this.#checks.set(id, check);
    const raw = isLarge(received)
      ? await copyInTurns(received, () => this.#checks.has(id) && !signal?.aborted)
      : received;
    if (signal?.aborted) this.#finish(id, NOT_IN_TIME);
    if (!this.#checks.has(id)) return promise;
    this.#thread ??= this.#startThread();
    this.#idle.abort();
    const { mailFrom, helo, remoteAddress } = mail;
    this.#thread.check({ id, mailFrom, helo, remoteAddress, raw });
    void this.#watch(this.#thread, id, check);
    const leave = (): void => {
      resolve(NOT_IN_TIME);
      this.#thread?.hurry(id);
    };
    signal?.addEventListener('abort', leave, { once: true, signal: check.over.signal });
    return promise;
  }

  #hasRoom(source: string, bytes: number): boolean {
    const { checks: maxChecks = MAX_CHECKS, bytes: maxBytes = MAX_BYTES } = this.#options.limits ?? {};
    if (this.#checks.size >= maxChecks || this.#bytes + bytes > maxBytes) return false;
    const load = this.#bySource.get(source);
    return !load || (load.checks < MAX_CHECKS_PER_SOURCE && load.bytes + bytes <= MAX_BYTES_PER_SOURCE);
  }

  #count(source: string, { checks, bytes }: Load): void {
    const load = this.#bySource.get(source) ?? { checks: 0, bytes: 0 };
    load.checks += checks;
    load.bytes += bytes;
    this.#bytes += bytes;
    if (load.checks > 0) this.#bySource.set(source, load);
    else this.#bySource.delete(source);
  }

  #startThread(): CheckThread {
    const entry = this.#options.workerEntry ?? new URL('./worker.ts', import.meta.url);
    const thread = new CheckThread(entry, this.#options.dnsServers, {
      onFound: (id, found) => this.#finish(id, found),
      onLost: (error) => this.#lose(thread, error),
    });
    return thread;
  }

  /** Ends a check, and settles it unless it is settled. */
  #finish(id: number, found: MailAuthentication): void {
    const check = this.#checks.get(id);
    if (!check) return;
    this.#checks.delete(id);
    this.#count(check.source, { checks: -1, bytes: -check.bytes });
    check.settle(found);
    check.over.abort();
    if (this.#checks.size === 0) void this.#endWhenIdle();
  }

  async #endThread(): Promise<void> {
    const thread = this.#thread;
    this.#thread = undefined;
    this.#idle.abort();
    for (const id of [...this.#checks.keys()]) this.#finish(id, NOT_IN_TIME);
    await thread?.terminate();
  }

  #lose(thread: CheckThread, error: Error): void {
    if (this.#thread !== thread) return;
    void this.#endThread();
    this.#options.onThreadLost(error);
  }

  async #endWhenIdle(): Promise<void> {
    if (!this.#thread) return;
    this.#idle = new AbortController();
    const { signal } = this.#idle;
    await this.#options.clock.sleep(IDLE_MS, signal);
    if (!signal.aborted) await this.#endThread();
  }

  /** Settles a check when its time is over, and terminates a thread that is stuck in it. */
  async #watch(thread: CheckThread, id: number, { over: { signal }, settle }: Check): Promise<void> {
    const { clock } = this.#options;
    await clock.sleep(CHECK_TIME_LIMIT_MS - HURRY_MS, signal);
    if (signal.aborted) return;
    thread.hurry(id);
    let before: number;
    do {
      before = thread.messages;
      await clock.sleep(HURRY_MS, signal);
      // Its messages come first, also when the main thread itself was late.
      await nextTurn();
      settle(NOT_IN_TIME);
      // A thread that is only busy, or still starting, gets to it later.
    } while (!signal.aborted && (!thread.isReady || thread.messages !== before));
    if (!signal.aborted) this.#lose(thread, new Error('A message kept the thread busy for too long.'));
  }
}

/** Mail of this machine comes from programs that are not senders in the sense of SPF. */
function isOutside(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() !== 'loopback';
}
