import { LruCache } from '../workers/ttl-cache.ts';

/** Clients that left early and are remembered; more in a minute are health checks. */
const MAX_EARLY = 100;
/** A client that left early so shortly before is a health check, which comes every few seconds, milliseconds. */
const REGULAR_MS = 60_000;
/** Senders whose last delivery is remembered. */
const MAX_SENDERS = 1_000;

/** An SMTP client as it shows itself. */
interface Peer {
  remoteAddress: string;
  /** '' before HELO and EHLO. */
  helo: string;
}

/** A client that said HELO or EHLO and left without naming a recipient. */
export interface EarlyLeaver extends Peer {
  /** Epoch milliseconds. */
  at: number;
}

const isSame = (a: Peer, b: Peer): boolean => a.remoteAddress === b.remoteAddress && a.helo === b.helo;

/**
 * What SMTP clients of this process did lately that leaves no trace in the store. It is written for every connection
 * and read by explanations of waits, so it stays in memory.
 */
export class SmtpVisits {
  /** When the last client connected, epoch milliseconds; null before the first. */
  lastAt: number | null = null;
  #early: EarlyLeaver[] = [];
  readonly #delivered = new LruCache<number>(MAX_SENDERS);

  leftEarly(client: EarlyLeaver): void {
    this.#early = [client, ...this.#early].slice(0, MAX_EARLY);
  }

  delivered({ remoteAddress, helo }: Peer, at: number): void {
    this.#delivered.set(`${remoteAddress} ${helo}`, at);
  }

  /** @param at epoch milliseconds */
  hasDeliveredSince({ remoteAddress, helo }: Peer, at: number): boolean {
    return (this.#delivered.get(`${remoteAddress} ${helo}`) ?? 0) >= at;
  }

  /** Clients that left early after a time, newest first; without those that did so shortly before as well. */
  earlyLeavers(after: number): EarlyLeaver[] {
    const before = this.#early.filter(({ at }) => at <= after && at > after - REGULAR_MS);
    return this.#early.filter((one) => one.at > after && !before.some((other) => isSame(one, other)));
  }
}
