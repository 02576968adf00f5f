import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** A TCP proxy on loopback that delays, freezes and resets connections. */
export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

/** Maximum length of `begin`. */
const KEPT_LETTERS = 4_000;

type Connection = ReturnType<typeof pipe>;

/** Connects two sockets. @param delay returns the delay of a piece of data, milliseconds */
function pipe(client: Socket, server: Socket, delay: () => number, onClosed: () => void) {
  let isFrozen = false;
  const connection = {
    /** The first bytes from the client, as Latin-1. */
    begin: '',
    /** Resets both sides (RST), as a machine does that restarted after a crash. */
    reset(): void {
      client.resetAndDestroy();
      server.resetAndDestroy();
    },
    /** Drops all data in both directions and closes nothing, as a firewall does that lost its state. */
    freeze(): void {
      isFrozen = true;
    },
    /** Closes it, also when it is frozen. */
    end(): void {
      client.destroy();
      server.destroy();
    },
  };
  const pass = (from: Socket, to: Socket): void => {
    let last = Promise.resolve();
    let waiting = 0;
    from.setNoDelay(true);
    from.on('data', (piece: Buffer) => {
      if (isFrozen) return;
      const ms = delay();
      // Data that waits is sent first, so that the order is kept.
      if (ms === 0 && waiting === 0) return void to.write(piece);
      const due = pause(ms);
      waiting += 1;
      last = last
        .then(() => due)
        .then(() => {
          waiting -= 1;
          if (!isFrozen) to.write(piece);
        });
    });
    from.on('end', () => void last.then(() => isFrozen || to.end()));
    from.on('error', () => undefined);
    from.on('close', () => {
      onClosed();
      if (!isFrozen) connection.end();
    });
  };
  pass(client, server);
  pass(server, client);
  client.on('data', (piece: Buffer) => {
    if (connection.begin.length < KEPT_LETTERS) connection.begin += piece.toString('latin1');
  });
  return connection;
}

/**
 * Starts a proxy to a port of loopback.
 * @param delay called for each piece of data; @returns its delay in milliseconds, which is added to `delayMs`
 */
export async function startTcpProxy(target: () => number, delay = () => 0) {
  const open = new Set<Connection>();
  const proxy = {
    port: 0,
    /** Delay of each piece of data, milliseconds. */
    delayMs: 0,
    /** If true, new connections are accepted and frozen at once, as by a machine that hangs. */
    freezesNew: false,
    /** @returns the open connections */
    connections: () => [...open],
    async close(): Promise<void> {
      server.close();
      for (const connection of open) connection.end();
      await once(server, 'close');
    },
  };
  const server = createServer((client) => {
    const connection: Connection = pipe(
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
