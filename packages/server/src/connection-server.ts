import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { type Clock, repeat, SECOND_MS } from './clock.ts';
import { type Logger, oncePerMinute } from './log.ts';

interface ServedConnection {
  /** Enforces time limits; called every second. @param now monotonic milliseconds */
  watch(now: number): void;
  /** Ends the connection, after what it is receiving or sending. */
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

/** The listeners of SMTP or POP3 with their open connections, which add and remove themselves. */
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

  /** @param port 0 selects a free one @returns the port */
  async listen(port: number, accept: (socket: Socket) => void): Promise<number> {
    const { protocol, host, maxConnections, clock, log } = this.#options;
    // Half-open, so that a client that sends everything and closes its side (a script with nc) still gets replies.
    const listener = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      // Twice the limit, because rejected connections and those in a handshake are not counted by the limiter.
      if (this.open.size >= 2 * maxConnections) socket.destroy();
      else accept(socket);
    });
    this.#listeners.push(listener);
    // Bursts of connections overflow Node's default of 511, and some clients then wait forever.
    listener.listen({ port, host, backlog: maxConnections });
    await once(listener, 'listening');
    // Errors of accepting a connection, for example EMFILE.
    const report = oncePerMinute(clock, (err, count) =>
      log.error({ err, count }, `${protocol} connections were not accepted`),
    );
    listener.on('error', report);
    return (listener.address() as AddressInfo).port;
  }

  /** Lets connections finish what they do until `deadlineMs`. Safe to call twice, and when `listen` failed. */
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
