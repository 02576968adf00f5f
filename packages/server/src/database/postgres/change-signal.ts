import type { Client, Pool } from 'pg';
import type { Clock } from '../../clock.ts';
import { toError } from '../../errors.ts';
import type { Hint } from '../sql.ts';
import { connectAlone } from './connection.ts';

const CHANNEL = 'mayfly';
/** Notifications of changes (hints) within this many milliseconds are sent together. */
const GATHER_MS = 5;
const MAX_HINTS = 1_000;
/** Interval of a query for changes whose hint was lost. The query also tests the connection that listens. */
const CHECK_EVERY_MS = 1_000;
const RECONNECT_AFTER_MS = 250;
const ANSWER_TIMEOUT_MS = 3_000;

const EVERYTHING: Hint = { kind: 'all' };

export interface ChangeSignalDeps {
  url: string;
  pool: Pool;
  clock: Clock;
  node: string;
  onHint(hint: Hint): void;
  /** Ids of the inboxes and accounts for which this node has open waits or streams. */
  waiting(): { inboxes: string[]; accounts: string[] };
  onError(error: Error): void;
}

/** Sends NOTIFY to other nodes after the commit: in the transaction, it would hold a global lock during the commit. */
export class ChangeSignal {
  readonly #deps: ChangeSignalDeps;
  readonly #stop = new AbortController();
  readonly #outbox = new Set<string>();
  #versions = new Map<string, number>();
  #running: Promise<void> = Promise.resolve();

  constructor(deps: ChangeSignalDeps) {
    this.#deps = deps;
  }

  async start(): Promise<void> {
    this.#running = this.#keepListening(await this.#listen());
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  send(hints: readonly Hint[]): void {
    if (hints.length === 0 || this.#stop.signal.aborted) return;
    const isIdle = this.#outbox.size === 0;
    for (const hint of hints) this.#outbox.add(JSON.stringify(hint));
    if (isIdle) void this.#flush();
  }

  async #flush(): Promise<void> {
    const { clock, node, pool, onError } = this.#deps;
    await clock.sleep(GATHER_MS, this.#stop.signal);
    const hints = this.#outbox.size > MAX_HINTS ? [JSON.stringify(EVERYTHING)] : [...this.#outbox];
    this.#outbox.clear();
    await pool
      .query("select pg_notify($1, $2 || ' ' || hint) from unnest($3::text[]) as hint", [
        CHANNEL,
        node,
        hints,
      ])
      .catch(onError);
  }

  async #listen(): Promise<Client> {
    const client = await connectAlone(this.#deps.url, () => undefined, { query_timeout: ANSWER_TIMEOUT_MS });
    client.on('notification', ({ payload = '' }) => {
      const space = payload.indexOf(' ');
      if (payload.slice(0, space) !== this.#deps.node) this.#deps.onHint(JSON.parse(payload.slice(space)));
    });
    await client.query(`listen ${CHANNEL}`);
    return client;
  }

  async #keepListening(first: Client): Promise<void> {
    const { clock, onHint, onError } = this.#deps;
    let listener: Client | undefined = first;
    for (;;) {
      await clock.sleep(listener ? CHECK_EVERY_MS : RECONNECT_AFTER_MS, this.#stop.signal);
      if (this.#stop.signal.aborted) break;
      try {
        if (!listener) {
          listener = await this.#listen();
          onHint(EVERYTHING);
        }
        await this.#check(listener);
      } catch (error) {
        onError(toError(error));
        await listener?.end().catch(onError);
        listener = undefined;
      }
    }
    await listener?.end().catch(onError);
  }

  /** Calls `onHint` for each followed id that is new, deleted, or of another version than last time. */
  async #check(client: Client): Promise<void> {
    const { onHint, waiting } = this.#deps;
    const { inboxes, accounts } = waiting();
    const { rows } = await client.query({
      name: 'versions',
      text: `select id, version from inboxes where id = any($1)
        union all select a.id, o.last from accounts a join account_orders o on o.account_seq = a.seq
        where a.id = any($2)`,
      values: [inboxes, accounts],
    });
    const known = this.#versions;
    this.#versions = new Map(rows.map(({ id, version }) => [id, version]));
    const isChanged = (id: string): boolean => this.#versions.get(id) !== known.get(id);
    for (const inboxId of inboxes.filter(isChanged)) onHint({ kind: 'inbox', inboxId });
    for (const accountId of accounts.filter(isChanged)) onHint({ kind: 'message', accountId, inboxId: '' });
  }
}
