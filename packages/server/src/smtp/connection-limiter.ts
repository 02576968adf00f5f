import { sourceKey } from '../inbound/source-key.ts';
import { CROWDED_IDLE_MS, NEARLY_FULL_IDLE_MS, type SmtpLimits } from './limits.ts';
import { isLoopback } from './networks.ts';
import { REPLIES, type Reply } from './replies.ts';

/** A connection as the limiter sees it. */
export interface LimitedConnection {
  readonly remoteAddress: string;
  /** Since when it has been idle, monotonic milliseconds; undefined while it does something. */
  readonly idleSince: number | undefined;
  /** Closes it, and leaves the limiter before this returns. */
  makeRoom(): void;
}

/** Limits the connections of all listeners, in all and by source (see `sourceKey`). */
export class ConnectionLimiter {
  readonly #limits: SmtpLimits;
  readonly #metrics: { connection(): void; disconnection(): void };
  readonly #bySource = new Map<string, Set<LimitedConnection>>();
  readonly #exempt = new Set<LimitedConnection>();
  #count = 0;

  constructor(limits: SmtpLimits, metrics: { connection(): void; disconnection(): void }) {
    this.#limits = limits;
    this.#metrics = metrics;
  }

  /** How long a session may idle now, milliseconds. */
  get idleMs(): number {
    const { maxConnections, idleMs } = this.#limits;
    if (this.#count >= 0.9 * maxConnections) return Math.min(idleMs, NEARLY_FULL_IDLE_MS);
    return this.#count >= 0.5 * maxConnections ? Math.min(idleMs, CROWDED_IDLE_MS) : idleMs;
  }

  /**
   * Counts a connection. Where all places are taken, it displaces the longest idle connection of the source
   * with the most, if that still has no fewer than its own source then.
   * @returns the reply that turns it away
   */
  enter(connection: LimitedConnection): Reply | undefined {
    const { remoteAddress } = connection;
    const { maxConnections, maxConnectionsPerAddress } = this.#limits;
    const fromThere = this.#bySource.get(sourceKey(remoteAddress))?.size ?? 0;
    if (fromThere >= maxConnectionsPerAddress && !isLoopback(remoteAddress)) return REPLIES.tooManyFromYou;
    if (this.#count >= maxConnections) this.#longestIdle(fromThere + 1)?.makeRoom();
    if (this.#count >= maxConnections) return REPLIES.tooManyConnections;
    this.#add(connection);
    this.#metrics.connection();
    return undefined;
  }

  /** Does not count a connection that a fault rule delays, unless half as many as may be open are delayed. */
  exempt(connection: LimitedConnection): void {
    if (this.#exempt.size >= 0.5 * this.#limits.maxConnections) return;
    if (this.#remove(connection)) this.#exempt.add(connection);
  }

  /** Counts a connection again after its delay, also where no place is free. */
  readmit(connection: LimitedConnection): void {
    if (this.#exempt.delete(connection)) this.#add(connection);
  }

  /** Safe to call twice. */
  leave(connection: LimitedConnection): void {
    if (this.#exempt.delete(connection) || this.#remove(connection)) this.#metrics.disconnection();
  }

  #add(connection: LimitedConnection): void {
    const key = sourceKey(connection.remoteAddress);
    this.#bySource.set(key, (this.#bySource.get(key) ?? new Set()).add(connection));
    this.#count++;
  }

  #remove(connection: LimitedConnection): boolean {
    const key = sourceKey(connection.remoteAddress);
    const connections = this.#bySource.get(key);
    if (!connections?.delete(connection)) return false;
    if (connections.size === 0) this.#bySource.delete(key);
    this.#count--;
    return true;
  }

  /** Of the source that has the most connections, and more than so many. */
  #longestIdle(moreThan: number): LimitedConnection | undefined {
    let most: Set<LimitedConnection> | undefined;
    for (const connections of this.#bySource.values())
      if (connections.size > (most?.size ?? moreThan)) most = connections;
    let longest: LimitedConnection | undefined;
    for (const connection of most ?? [])
      if ((connection.idleSince ?? Infinity) < (longest?.idleSince ?? Infinity)) longest = connection;
    return longest;
  }
}
