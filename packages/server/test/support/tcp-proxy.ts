import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** A connection through the proxy. */
export interface ProxiedConnection {
  /** The first bytes that the client sent, as Latin-1; enough to tell kinds of connections apart. */
  begin: string;
  /** Resets both sides (RST), as a machine that crashed and came back does. */
  reset(): void;
  /** Drops everything in both directions and closes nothing, as a firewall that lost its state does. */
  freeze(): void;
}

/** A TCP proxy on loopback that spoils connections on request. */
export interface TcpProxy {
  port: number;
  /** Those that are open. */
  connections(): ProxiedConnection[];
  /** Each piece is passed on this much later, milliseconds. */
  delayMs: number;
  /** True: new connections are accepted and frozen at once, as by a machine that has stopped. */
  freezesNew: boolean;
  close(): Promise<void>;
}

/** How much of what the client sends is kept, so that a test can recognize the connection. */
const KEPT_LETTERS = 4_000;

class Connection implements ProxiedConnection {
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

  reset(): void {
    this.#client.resetAndDestroy();
    this.#server.resetAndDestroy();
  }

  freeze(): void {
    this.#isFrozen = true;
  }

  /** Ends it for good, also when it is frozen. */
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
      // Never past what still waits: bytes keep their order.
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
 * @param delay how much later a piece is passed on, milliseconds, beside `delayMs`; called for each
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
