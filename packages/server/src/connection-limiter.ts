import { isIPv4, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';

export interface LimitedConnection {
  /** Result of {@link sourceKey} for the client's address. */
  readonly source: string;
  /** False while something is being received, processed or sent. */
  readonly isIdle: boolean;
  /** Closes an idle connection in favour of a new one. */
  makeRoom(): void;
}

interface Limits {
  maxConnections: number;
  maxConnectionsPerAddress: number;
}

/** Maximum share of `maxConnections` that is exempt at once, see {@link ConnectionLimiter.exempt}. */
const EXEMPT_SHARE = 0.5;

// A client at its limit gets a new connection only in place of one of its idle ones. At the total limit, the
// client with the most connections loses an idle one, so a flood from one client displaces no other client.
export class ConnectionLimiter<C extends LimitedConnection> {
  readonly #limits: Limits;
  /** Connections of each client, the least recently used first. */
  readonly #clients = new Map<string, Set<C>>();
  readonly #used = new WeakSet<C>();
  readonly #exempt = new Set<C>();
  #count = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  /** @param isUnlimited if true, only the total limit applies @returns the exceeded limit, or null if accepted */
  enter(connection: C, isUnlimited = false): 'address' | 'server' | null {
    const own = this.#clients.get(connection.source);
    const isMany = !isUnlimited && (own?.size ?? 0) >= this.#limits.maxConnectionsPerAddress;
    if (isMany && !this.#closeIdle(own)) return 'address';
    const isFull = this.#count >= this.#limits.maxConnections;
    if (isFull && !this.#closeIdle(this.#largest(own))) return 'server';
    this.#add(connection);
    return null;
  }

  leave(connection: C): void {
    if (!this.#exempt.delete(connection)) this.#remove(connection);
  }

  used(connection: C): void {
    this.#used.add(connection);
    const client = this.#clients.get(connection.source);
    if (client?.delete(connection)) client.add(connection);
  }

  of(source: string): Iterable<C> {
    return this.#clients.get(source) ?? [];
  }

  /** Stops counting a connection until `readmit`, unless too many are exempt already. */
  exempt(connection: C): void {
    if (this.#exempt.size >= EXEMPT_SHARE * this.#limits.maxConnections) return;
    if (this.#remove(connection)) this.#exempt.add(connection);
  }

  /** Counts a connection again, even beyond the limits. */
  readmit(connection: C): void {
    if (this.#exempt.delete(connection)) this.#add(connection);
  }

  #add(connection: C): void {
    const client = this.#clients.get(connection.source) ?? new Set();
    this.#clients.set(connection.source, client.add(connection));
    this.#count++;
  }

  #remove(connection: C): boolean {
    const client = this.#clients.get(connection.source);
    if (!client?.delete(connection)) return false;
    if (client.size === 0) this.#clients.delete(connection.source);
    this.#count--;
    return true;
  }

  #largest(own: Set<C> | undefined): Set<C> | undefined {
    let largest = own;
    for (const client of this.#clients.values()) {
      if (client.size > (largest?.size ?? 0)) largest = client;
    }
    return largest;
  }

  #closeIdle(connections: Iterable<C> = []): boolean {
    const idle = [...connections].filter(({ isIdle }) => isIdle);
    const closed = idle.find((one) => !this.#used.has(one)) ?? idle[0];
    if (!closed) return false;
    this.#remove(closed);
    closed.makeRoom();
    return true;
  }
}

/** Prefix of an IPv4 address on a dual-stack socket (RFC 4291 section 2.5.5.2). */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;
/** Limits apply to the /64 network of an IPv6 address, because a customer has at least a /64 (RFC 6177). */
const NETWORK_BYTES = 8;

export const plainAddress = (address = ''): string => address.replace(MAPPED_IPV4, '');

export const isLoopback = (address: string): boolean =>
  isIPv4(address)
    ? address.startsWith('127.')
    : ipaddr.isValid(address) && ipaddr.process(address).range() === 'loopback';

/** True for an IP address other than loopback. Only mail from such an address is checked by SPF. */
export const isOutside = (address: string): boolean =>
  (isIPv4(address) || ipaddr.isValid(address)) && !isLoopback(address);

/** Key under which a client is limited: its IPv4 address or IPv6 /64 network. Any other text is returned unchanged. */
export function sourceKey(address = ''): string {
  const plain = plainAddress(address);
  if (!isIPv6(plain)) return plain;
  const bytes = ipaddr.parse(plain).toByteArray();
  return Buffer.from(bytes.slice(0, NETWORK_BYTES)).toString('hex');
}
