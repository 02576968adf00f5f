/** A connection as the limiter sees it. */
export interface LimitedConnection {
  /** The client: its address, or its network. */
  readonly source: string;
  /** False while something is being received, processed or sent. */
  readonly isIdle: boolean;
  /** Closes it. It is not counted any more. */
  makeRoom(): void;
}

interface Limits {
  maxConnections: number;
  maxConnectionsPerAddress: number;
}

/** The connections of one client. */
class Client<C extends LimitedConnection> {
  /** Nothing has arrived on these yet, the oldest first. */
  readonly silent = new Set<C>();
  /** The others, the least recently used first. */
  readonly used = new Set<C>();

  get size(): number {
    return this.silent.size + this.used.size;
  }

  *[Symbol.iterator](): Iterator<C> {
    yield* this.silent;
    yield* this.used;
  }
}

/** Of all connections, so many more may be exempt. */
const EXEMPT_SHARE = 0.5;

/**
 * Limits how many connections are open, in all and for each client. A new connection beyond a limit takes the place
 * of an idle one: of the same client at the limit of a client, of the client with the most connections at the limit
 * of all; first of one on which nothing has arrived, then of the least recently used. So a flood of idle connections
 * closes connections of that flood only, and a new one is rejected only when all those are in use.
 */
export class ConnectionLimiter<C extends LimitedConnection> {
  readonly #limits: Limits;
  readonly #clients = new Map<string, Client<C>>();
  readonly #exempt = new Set<C>();
  #count = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** How many connections are counted. */
  get count(): number {
    return this.#count;
  }

  /**
   * Counts a connection until `leave`.
   * @param isUnlimited true for a client to which only the limit of all applies
   * @returns which limit rejects it; null when it may stay
   */
  enter(connection: C, isUnlimited = false): 'address' | 'server' | null {
    const own = this.#clients.get(connection.source);
    const isMany = !isUnlimited && (own?.size ?? 0) >= this.#limits.maxConnectionsPerAddress;
    if (isMany && !this.#closeIdle(own)) return 'address';
    const isFull = this.#count >= this.#limits.maxConnections;
    if (isFull && !this.#closeIdle(this.#largest(own))) return 'server';
    this.#add(connection, 'silent');
    return null;
  }

  leave(connection: C): void {
    if (!this.#exempt.delete(connection)) this.#remove(connection);
  }

  /** Notes that something arrived on a connection. */
  used(connection: C): void {
    const client = this.#clients.get(connection.source);
    if (client?.silent.delete(connection) || client?.used.delete(connection)) client.used.add(connection);
  }

  /** The connections of a client that are counted. */
  of(source: string): Iterable<C> {
    return this.#clients.get(source) ?? [];
  }

  /** Does not count a connection until `readmit`. Where too many are exempt already, it stays counted. */
  exempt(connection: C): void {
    if (this.#exempt.size >= EXEMPT_SHARE * this.#limits.maxConnections) return;
    if (this.#remove(connection)) this.#exempt.add(connection);
  }

  /** Counts a connection again, also beyond the limits. */
  readmit(connection: C): void {
    if (this.#exempt.delete(connection)) this.#add(connection, 'used');
  }

  #add(connection: C, kind: 'silent' | 'used'): void {
    const client = this.#clients.get(connection.source) ?? new Client();
    client[kind].add(connection);
    this.#clients.set(connection.source, client);
    this.#count++;
  }

  #remove(connection: C): boolean {
    const client = this.#clients.get(connection.source);
    if (!client?.silent.delete(connection) && !client?.used.delete(connection)) return false;
    if (client.size === 0) this.#clients.delete(connection.source);
    this.#count--;
    return true;
  }

  /** @param own the client that is chosen where no other has more */
  #largest(own: Client<C> | undefined): Client<C> | undefined {
    let largest = own;
    for (const client of this.#clients.values()) {
      if (client.size > (largest?.size ?? 0)) largest = client;
    }
    return largest;
  }

  /** @returns false when none is idle */
  #closeIdle(connections: Iterable<C> = []): boolean {
    for (const connection of connections) {
      if (!connection.isIdle) continue;
      this.#remove(connection);
      connection.makeRoom();
      return true;
    }
    return false;
  }
}
