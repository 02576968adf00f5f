import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** A TCP proxy on loopback that delays, freezes and resets connections. */
export interface TcpProxy {
  port: number;
  /** @returns the open connections */
  connections(): Connection[];
  /** Delay of each piece of data, milliseconds. */
  delayMs: number;
  /** If true, new connections are accepted and frozen at once, as by a machine that hangs. */
  freezesNew: boolean;
  close(): Promise<void>;
}

/** Maximum length of `begin`. */
const KEPT_LETTERS = 4_000;

/** A connection through the proxy. */
class Connection {
  /** The first bytes from the client, as Latin-1. */
  begin = '';
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #delay: () => number;
  #isFrozen = false;

  constructor(client: Socket, server: Socket, delay: () => number, onClosed: () => void) {
    this.#client = client;
    this.#server = server;
    this.#delay = delay;
    client.setNoDelay(true);
    server.setNoDelay(true);
    this.#pass(client, server);
    this.#pass(server, client);
    client.on('data', (piece: Buffer) => {
      if (this.begin.length < KEPT_LETTERS) this.begin += piece.toString('latin1');
    });
    for (const socket of [client, server]) {
      socket.on('error', () => undefined);
      socket.on('close', () => {
        onClosed();
        if (this.#isFrozen) return;
        client.destroy();
        server.destroy();
      });
    }
  }

  /** Resets both sides (RST), as a machine does that restarted after a crash. */
  reset(): void {
    this.#client.resetAndDestroy();
    this.#server.resetAndDestroy();
  }

  /** Drops all data in both directions and closes nothing, as a firewall does that lost its state. */
  freeze(): void {
    this.#isFrozen = true;
  }

  /** Closes it, also when it is frozen. */
  end(): void {
    this.#client.destroy();
    this.#server.destroy();
  }

  #pass(from: Socket, to: Socket): void {
    let last = Promise.resolve();
    let waiting = 0;
    from.on('data', (piece: Buffer) => {
      if (this.#isFrozen) return;
      const ms = this.#delay();
      // Data that waits is sent first, so that the order is kept.
      if (ms === 0 && waiting === 0) {
        to.write(piece);
        return;
      }
      const due = pause(ms);
      waiting += 1;
      last = last
        .then(() => due)
        .then(() => {
          waiting -= 1;
          if (!this.#isFrozen) to.write(piece);
        });
    });
    from.on('end', () => {
      void last.then(() => {
        if (!this.#isFrozen) to.end();
      });
    });
  }
}

/**
 * Starts a proxy to a port of loopback.
 * @param delay called for each piece of data; @returns its delay in milliseconds, which is added to `delayMs`
 */
export async function startTcpProxy(target: () => number, delay = () => 0): Promise<TcpProxy> {
  const open = new Set<Connection>();
  const proxy = {
    port: 0,
    delayMs: 0,
    freezesNew: false,
    connections: () => [...open],
    async close() {
      server.close();
      for (const connection of open) connection.end();
      await once(server, 'close');
    },
  };
  const server = createServer((client) => {
    const connection: Connection = new Connection(
      client,
      connect(target(), '127.0.0.1'),
      () => proxy.delayMs + delay(),
      () => open.delete(connection),
    );
    if (proxy.freezesNew) connection.freeze();
    open.add(connection);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  proxy.port = (server.address() as AddressInfo).port;
  return proxy;
}
