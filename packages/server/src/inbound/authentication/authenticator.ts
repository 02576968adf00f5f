import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import ipaddr from 'ipaddr.js';
import type { Clock } from '../../clock.ts';
import type { MailAuthentication } from '../../mail/authentication.ts';
import { buffersToGive, copyIfLarge } from '../../memory.ts';
import type { MailEnvelope } from '../../store/contract/index.ts';
import type { CheckerData, CheckJob, FromChecker, ToChecker } from './protocol.ts';

/** A 250 waits so long for the check, not longer: name servers that answer do so in a fraction of it, milliseconds. */
export const CHECK_TIME_LIMIT_MS = 2_000;
/** The end of that time in which the thread tells what it has, instead of waiting for more, milliseconds. */
export const LAST_WORDS_MS = 200;
/** Mails that are checked at once; further ones get `temperror`. Nearly all of the time they wait for name servers. */
const MAX_CHECKS = 200;
/** Bytes of the mails that are checked at once, which are copies: room for a mail of the largest size. */
const MAX_BYTES = 64 * 1024 * 1024;
/** A thread without work ends after so long: it holds tens of MiB. */
const IDLE_MS = 60_000;
/** JavaScript heap of the thread, MiB: the libraries take 20, the cache of records a few. */
const HEAP_MB = 96;
const YOUNG_HEAP_MB = 12;

/** Nothing was found out in time. */
const NOT_IN_TIME: MailAuthentication = { spf: 'temperror', dkim: 'temperror', dmarc: 'temperror' };

export interface Authenticating {
  /**
   * Checks the sender of a mail from outside by SPF, DKIM and DMARC. Never rejects, and resolves within
   * {@link CHECK_TIME_LIMIT_MS}: what could not be found out until then is `temperror`. Null for mail of
   * this machine, which costs nothing.
   * @param received the mail without our Received line; may be changed when the call returns
   */
  check(envelope: MailEnvelope, received: Uint8Array): Promise<MailAuthentication | null>;
  /** Whether the thread lives. */
  readonly running: boolean;
  /** Messages that are being checked now. */
  readonly checks: number;
  /** Ends the thread; what it had not finished is answered as if its time were over. */
  close(): Promise<void>;
}

export interface AuthenticatingOptions {
  clock: Clock;
  /** Name servers as `address` or `address:port`; null for the machine's own. */
  dnsServers: readonly string[] | null;
  /** Told when the thread had to be ended, or ended by itself. */
  onThreadLost(error: Error): void;
  /** Told what each mail from outside is answered, also what was not found out in time. */
  onChecked?(found: MailAuthentication): void;
  /** For tests: another worker file, and other limits than the constants here. */
  workerEntry?: URL;
  limits?: { checks?: number; bytes?: number };
}

/** A mail that the thread has. */
interface Check {
  bytes: number;
  settle(found: MailAuthentication): void;
  /** Aborted when the thread has answered, or is gone. */
  over: AbortController;
}

/** The thread with what it was given. */
interface Checker {
  worker: Worker;
  checks: Map<number, Check>;
  ready: boolean;
  /** How many messages came from it: one that is stuck says nothing. */
  said: number;
  /** Aborted when it gets work, or ends. */
  rest: AbortController;
}

/**
 * Checks senders on a thread of its own, that is started by the first mail from outside and ended when
 * none came for a while: hashing bodies and the libraries' memory are no business of the thread that talks.
 */
export function createAuthenticating(options: AuthenticatingOptions): Authenticating {
  const { clock, dnsServers, onThreadLost } = options;
  const entry = options.workerEntry ?? new URL('./worker.ts', import.meta.url);
  const { checks: maxChecks = MAX_CHECKS, bytes: maxBytes = MAX_BYTES } = options.limits ?? {};
  let checker: Checker | undefined;
  let lastId = 0;
  let bytes = 0;
  let closed = false;

  const start = (): Checker => {
    const workerData: CheckerData = { servers: dnsServers };
    const worker = new Worker(entry, {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, maxYoungGenerationSizeMb: YOUNG_HEAP_MB },
    });
    const started: Checker = {
      worker,
      checks: new Map(),
      ready: false,
      said: 0,
      rest: new AbortController(),
    };
    worker.on('message', (message: FromChecker) => {
      started.said++;
      if (message === 'ready') started.ready = true;
      else finish(started, message.id, message.found);
    });
    worker.on('error', (error) => lose(started, error));
    worker.on('exit', () => lose(started, new Error('it ended by itself')));
    return started;
  };

  /** Forgets a check, and answers it unless it was. */
  const finish = (from: Checker, id: number, found: MailAuthentication): void => {
    const check = from.checks.get(id);
    if (!check) return;
    from.checks.delete(id);
    bytes -= check.bytes;
    check.settle(found);
    check.over.abort();
    if (from.checks.size === 0 && from === checker) void restFrom(from);
  };

  const end = (which: Checker): Promise<number> => {
    if (checker === which) checker = undefined;
    which.rest.abort();
    for (const id of [...which.checks.keys()]) finish(which, id, NOT_IN_TIME);
    return which.worker.terminate();
  };

  const lose = (which: Checker, error: Error): void => {
    if (checker !== which) return;
    void end(which);
    onThreadLost(error);
  };

  const restFrom = async (idle: Checker): Promise<void> => {
    idle.rest = new AbortController();
    const { signal } = idle.rest;
    await clock.sleep(IDLE_MS, signal);
    if (!signal.aborted) await end(idle);
  };

  const watch = async (at: Checker, id: number, { over: { signal }, settle }: Check): Promise<void> => {
    await clock.sleep(CHECK_TIME_LIMIT_MS - LAST_WORDS_MS, signal);
    if (signal.aborted) return;
    at.worker.postMessage({ hurry: id } satisfies ToChecker);
    let said: number;
    do {
      said = at.said;
      await clock.sleep(LAST_WORDS_MS, signal);
      // What it has said comes first, also when the main thread itself was late.
      await nextTurn();
      settle(NOT_IN_TIME);
      // A thread that is only busy, or still starting, comes to it.
    } while (!signal.aborted && (!at.ready || at.said !== said));
    if (!signal.aborted) lose(at, new Error('a mail kept it busy for too long'));
  };

  const examine = async (mail: MailEnvelope, received: Uint8Array): Promise<MailAuthentication> => {
    const size = received.byteLength;
    if (closed || bytes + size > maxBytes || (checker?.checks.size ?? 0) >= maxChecks) return NOT_IN_TIME;
    checker ??= start();
    checker.rest.abort();
    const { mailFrom, helo, remoteAddress } = mail;
    const raw = copyIfLarge(received);
    const job: CheckJob = { id: ++lastId, mailFrom, helo, remoteAddress, raw };
    checker.worker.postMessage(job satisfies ToChecker, buffersToGive([raw]));
    bytes += size;
    const { promise, resolve } = Promise.withResolvers<MailAuthentication>();
    const check: Check = { bytes: size, settle: resolve, over: new AbortController() };
    checker.checks.set(job.id, check);
    void watch(checker, job.id, check);
    return promise;
  };

  return {
    async check(envelope, received) {
      if (!isOutside(envelope.remoteAddress)) return null;
      const found = await examine(envelope, received);
      options.onChecked?.(found);
      return found;
    },
    get checks() {
      return checker?.checks.size ?? 0;
    },
    get running() {
      return checker !== undefined;
    },
    async close() {
      closed = true;
      if (checker) await end(checker);
    },
  };
}

/** Mail of this machine comes from programs that are not senders in the sense of SPF. */
function isOutside(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() !== 'loopback';
}
