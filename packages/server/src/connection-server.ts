import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type Clock, repeat, SECOND_MS } from './clock.ts';
import { type Logger, oncePerMinute } from './log.ts';

interface ServedConnection {
  /** Enforces time limits; called every second. @param now monotonic milliseconds */
  watch(now: number): void;
  /** Ends the connection when it has finished what it is receiving or sending. */
  leave(): void;
  /** Ends the connection at once. */
  cut(): void;
}

interface ConnectionServerOptions {
  protocol: string;
  host: string;
  maxConnections: number;
  clock: Clock;
  log: Logger;
}

/** The listeners of SMTP or POP3, and their connections. A connection adds itself to `open` and removes itself. */
export class ConnectionServer<C extends ServedConnection> {
  readonly open = new Set<C>();
  readonly #options: ConnectionServerOptions;
  readonly #listeners: Server[] = [];
  readonly #stopping = new AbortController();

  constructor(options: ConnectionServerOptions) {
    this.#options = options;
    const { clock } = options;
    void repeat(clock, SECOND_MS, this.#stopping.signal, async () => {
      for (const connection of this.open) connection.watch(clock.monotonic());
    });
  }

  /** @param port 0 for any free port @returns the port in use */
  async listen(port: number, accept: (socket: Socket) => void): Promise<number> {
    const { protocol, host, maxConnections, clock, log } = this.#options;
    // Half-open, so that a client that sends everything and closes its side (a script with nc) still gets replies.
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      // Twice the limit, because rejected connections and those in a handshake are not counted by the limiter.
      if (this.open.size >= 2 * maxConnections) socket.destroy();
      else accept(socket);
    });
    this.#listeners.push(listener);
    // In a burst of connections, Node's default backlog of 511 overflows, and some clients then wait forever.
    listener.listen({ port, host, backlog: maxConnections });
    await once(listener, 'listening');
    const report = oncePerMinute(clock, (err, count) =>
      log.error({ err, count }, `${protocol} connections were not accepted`),
    );
    listener.on('error', report);
    return (listener.address() as AddressInfo).port;
  }

  /** Gives connections `deadlineMs` to finish, then ends them. May be called twice, and after a failed `listen`. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopping.abort();
    const closed = this.#listeners.map((listener) => new Promise((resolve) => listener.close(resolve)));
    for (const connection of this.open) connection.leave();
    const allGone = new AbortController();
    const late = this.#options.clock.sleep(deadlineMs, allGone.signal).then(() => {
      for (const connection of this.open) connection.cut();
    });
    await Promise.all(closed);
    allGone.abort();
    await late;
  }
}
