import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { sourceKey } from '../../inbound/source-key.ts';
import type { ConnectionLimits } from '../limits.ts';

/** From this share of all connections on, idle ones get the shorter times of {@link ConnectionLimits}. */
const BUSY_SHARE = 0.5;

/** The open connections of one client address. */
interface Client {
  /** No whole request has arrived on these yet, the oldest connection first. */
  silent: Set<Socket>;
  /** The others, the oldest first. */
  used: Set<Socket>;
}

/**
 * Limits how many connections are open, in all and for each client address. A new connection beyond a limit
 * takes the place of an idle one: first of one that never sent a request. So a flood of idle connections
 * closes connections of that flood only, and a new client is rejected only when requests are in progress on
 * all the others.
 */
export class ConnectionLimiter {
  readonly #server: Server;
  readonly #limits: ConnectionLimits;
  readonly #isBusy: (socket: Socket) => boolean;
  readonly #clients = new Map<string, Client>();
  #count = 0;

  /**
   * @param server whose time limits are shortened while many connections are open
   * @param isBusy true for a connection with a request that is not answered yet
   */
  constructor(server: Server, limits: ConnectionLimits, isBusy: (socket: Socket) => boolean) {
    this.#server = server;
    this.#limits = limits;
    this.#isBusy = isBusy;
    this.#applyTimes();
  }

  /** How many connections are open. */
  get count(): number {
    return this.#count;
  }

  /** Counts a new connection, until it closes. @returns which limit rejects it; null when it may stay */
  admit(socket: Socket): 'address' | 'server' | null {
    const address = sourceKey(socket.remoteAddress);
    const client = this.#clients.get(address) ?? { silent: new Set(), used: new Set() };
    if (sizeOf(client) >= this.#limits.maxConnectionsPerAddress) {
      if (!this.#closeIdle(client)) return 'address';
    } else if (this.#count >= this.#limits.maxConnections && !this.#closeIdle(this.#largestClient())) {
      return 'server';
    }
    this.#clients.set(address, client);
    client.silent.add(socket);
    this.#count++;
    socket.once('close', () => {
      if (this.#remove(client, socket) && sizeOf(client) === 0) this.#clients.delete(address);
    });
    this.#applyTimes();
    return null;
  }

  /** Notes that a request arrived on a connection. */
  noteRequest(socket: Socket): void {
    const client = this.#clients.get(sourceKey(socket.remoteAddress));
    if (client?.silent.delete(socket)) client.used.add(socket);
  }

  #remove(client: Client, socket: Socket): boolean {
    const removed = client.silent.delete(socket) || client.used.delete(socket);
    if (removed) {
      this.#count--;
      this.#applyTimes();
    }
    return removed;
  }

  #closeIdle(client: Client | undefined): boolean {
    if (!client) return false;
    for (const sockets of [client.silent, client.used]) {
      for (const socket of sockets) {
        if (this.#isBusy(socket)) continue;
        this.#remove(client, socket);
        socket.destroy();
        return true;
      }
    }
    return false;
  }

  #largestClient(): Client | undefined {
    let largest: Client | undefined;
    for (const client of this.#clients.values()) {
      if (!largest || sizeOf(client) > sizeOf(largest)) largest = client;
    }
    return largest;
  }

  #applyTimes(): void {
    const limits = this.#limits;
    const isBusy = this.#count > limits.maxConnections * BUSY_SHARE;
    this.#server.headersTimeout = isBusy ? limits.busyHeadersTimeoutMs : limits.headersTimeoutMs;
    this.#server.keepAliveTimeout = isBusy ? limits.busyKeepAliveMs : limits.keepAliveMs;
  }
}

const sizeOf = ({ silent, used }: Client): number => silent.size + used.size;
