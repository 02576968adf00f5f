import type { Clock } from '../../../clock.ts';

/**
 * A server or a firewall that is gone may answer nothing and close nothing. The calls that wait on its
 * connections end when a look at the server says that no answer will come, and not before that: a COMMIT that
 * waits for a standby, or a statement that waits for a lock, may take longer.
 */

/** How often connections with statements under way are checked, milliseconds. */
const CHECK_EVERY_MS = 500;
/** Without a byte for so long, the server is asked what the connection's backend does, milliseconds. */
const SILENT_AFTER_MS = 1_500;

/** A connection that may fall silent. */
export interface Watched {
  /** Statements that were sent and have no answer. */
  readonly unanswered: number;
  /** Bytes that were received in all. */
  readonly received: number;
  /** Number of the backend's process; null where a pooler stands between. */
  readonly backend: number | null;
  /** Closes it, so that its calls fail at once; with an error if the server does not answer at all. */
  destroy(error?: Error): void;
}

/** What a server says of the backends of silent connections. */
export type Answered =
  /** Those that are executing a statement. A call that waits for another one gets no answer. */
  | { working: ReadonlySet<number> }
  /** It refuses new connections, such as for their number. */
  | 'alive'
  | 'gone';

/** Calls of a connection fail with it if no other connection can be made: trying again would fail too. */
export class NoAnswerError extends Error {}

interface Progress {
  received: number;
  since: number;
}

/** Closes connections to which no answer will come. */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #ask: (backends: number[]) => Promise<Answered>;
  readonly #all = new Map<Watched, Progress>();
  readonly #stop = new AbortController();
  #isRunning = false;

  /** @param ask makes a new connection to ask the server; never rejects */
  constructor(clock: Clock, ask: (backends: number[]) => Promise<Answered>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  remove(connection: Watched): void {
    this.#all.delete(connection);
  }

  /** The connection has a statement under way, after having none. */
  begin(connection: Watched): void {
    this.#all.set(connection, { received: connection.received, since: this.#clock.monotonic() });
    if (!this.#isRunning) void this.#run();
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Runs while statements are under way, so that an idle server sets no timers. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    while (!this.#stop.signal.aborted && [...this.#all.keys()].some(({ unanswered }) => unanswered > 0)) {
      await this.#clock.sleep(CHECK_EVERY_MS, this.#stop.signal);
      if (this.#stop.signal.aborted) break;
      const silent = this.#silent();
      if (silent.length > 0) await this.#check(silent);
    }
    this.#isRunning = false;
  }

  #silent(): Watched[] {
    const now = this.#clock.monotonic();
    const silent: Watched[] = [];
    for (const [connection, progress] of this.#all) {
      if (connection.unanswered === 0 || connection.received !== progress.received) {
        progress.received = connection.received;
        progress.since = now;
      } else if (now - progress.since >= SILENT_AFTER_MS) silent.push(connection);
    }
    return silent;
  }

  async #check(silent: readonly Watched[]): Promise<void> {
    const before = new Map(silent.map((connection) => [connection, connection.received]));
    const answered = await this.#ask(silent.flatMap(({ backend }) => backend ?? []));
    const now = this.#clock.monotonic();
    const isLost = (connection: Watched): boolean => {
      // Answers may have come meanwhile, or waited to be read while this process was busy.
      if (connection.unanswered === 0 || connection.received !== before.get(connection)) return false;
      if (typeof answered === 'string') return answered === 'gone';
      return connection.backend !== null && !answered.working.has(connection.backend);
    };
    const lost = silent.filter(isLost);
    for (const connection of silent) {
      const progress = this.#all.get(connection);
      if (progress) progress.since = now;
    }
    if (lost.length === 0) return;
    // Connections that are not in use went the same way, and calls would find that out one after the other.
    const unused = [...this.#all.keys()].filter(({ unanswered }) => unanswered === 0);
    const error = answered === 'gone' ? new NoAnswerError('The database does not answer.') : undefined;
    for (const connection of [...lost, ...unused]) connection.destroy(error);
  }
}
