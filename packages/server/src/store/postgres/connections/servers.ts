import { Socket } from 'node:net';

/** A connection to a server that is in recovery: it may become the primary, and until then cannot be written to. */
export class StandbyError extends Error {}

/**
 * Splits a URL with several servers into one URL for each.
 * @param url `postgres://user:password@one:5432,two:5432/database`, the form that libpq reads
 */
export function urlsOf(url: string): string[] {
  const [, before = '', hosts = '', after = ''] = /^(\w+:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/s.exec(url) ?? [];
  return hosts.split(',').map((host) => `${before}${host}${after}`);
}

/**
 * The servers of a database, of which one is the primary. A new connection goes to the server that was the
 * primary last; after a failure the next one is tried.
 */
export class Servers {
  readonly urls: readonly string[];
  readonly #sockets = new Map<Socket, string>();
  #current = 0;

  constructor(url: string) {
    this.urls = urlsOf(url);
  }

  /** Where the next connection goes. */
  get url(): string {
    return this.urls[this.#current] ?? '';
  }

  /** A socket for a connection to a server. */
  socketTo(url: string): Socket {
    const socket = new Socket();
    this.#sockets.set(socket, url);
    socket.once('close', () => this.#sockets.delete(socket));
    return socket;
  }

  /** After a failure: new connections go to the next server, unless another failure has led there already. */
  leave(url: string): void {
    if (this.url === url) this.#current = (this.#current + 1) % this.urls.length;
  }

  /**
   * A server said that it is the primary. Connections to others are closed: their server is a standby now, or
   * does not answer, and calls would wait for it.
   */
  confirm(url: string): void {
    this.#current = Math.max(0, this.urls.indexOf(url));
    for (const [socket, to] of this.#sockets) if (to !== url) socket.destroy();
  }
}
