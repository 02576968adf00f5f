import { LRUCache } from 'lru-cache';

const MAX_EARLY = 100;
/** A client that disconnects early repeatedly within this time is a health check, milliseconds. */
const REGULAR_MS = 60_000;
const MAX_SENDERS = 1_000;

interface Peer {
  remoteAddress: string;
  /** '' before HELO and EHLO. */
  helo: string;
}

/** A client that disconnected after HELO or EHLO without naming a recipient. */
export interface EarlyLeaver extends Peer {
  /** Epoch milliseconds. */
  at: number;
}

const isSame = (a: Peer, b: Peer): boolean => a.remoteAddress === b.remoteAddress && a.helo === b.helo;

/** Recent activity of SMTP clients, in memory: it changes with every connection and only explanations read it. */
export class SmtpVisits {
  /** When the last client connected, epoch milliseconds; null before the first. */
  lastAt: number | null = null;
  #early: EarlyLeaver[] = [];
  readonly #delivered = new LRUCache<string, number>({ max: MAX_SENDERS });

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

  /** Clients that disconnected early after this time, newest first, without health checks. */
  earlyLeavers(after: number): EarlyLeaver[] {
    const before = this.#early.filter(({ at }) => at <= after && at > after - REGULAR_MS);
    return this.#early.filter((one) => one.at > after && !before.some((other) => isSame(one, other)));
  }
}
