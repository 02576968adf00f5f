import type { Client } from 'pg';
import type { Clock } from '../../clock.ts';
import { toError } from '../../errors.ts';
import type { CreatedInbox, Placed } from '../contract/index.ts';
import type { MethodPath } from '../methods.ts';
import { type Connections, connectAlone } from './connections/connection.ts';
import type { Servers } from './connections/servers.ts';

/**
 * Hints between nodes that something changed, by LISTEN and NOTIFY. A hint only says that reading again is
 * worthwhile. Hints are sent after the commit, outside its transaction: a transaction that notifies holds a
 * lock of the whole server while it syncs.
 */
export type Hint =
  | { kind: 'message'; accountId: string; inboxId: string }
  | { kind: 'inbox'; inboxId: string }
  | { kind: 'deliveries' }
  /** Anything may have changed. */
  | { kind: 'all' };

const CHANNEL = 'mayfly';
/** Hints of this time are sent together. */
const GATHER_MS = 5;
/** A payload has less than 8,000 bytes (PostgreSQL manual, NOTIFY). */
const HINTS_PER_PAYLOAD = 100;
/** With more hints at once, each node reads everything again. */
const MAX_HINTS = 1_000;
const RECONNECT_AFTER_MS = 250;
/** How often the connection that listens is asked for a sign of life. */
const HEARTBEAT_MS = 1_000;
/** A connection that gives none for so long is replaced. It may be half-open: closed by nothing and dead. */
const SILENT_AFTER_MS = 3_000;
/** How often all held waits of a node are checked by one statement, in case a hint was lost. */
const CHECK_EVERY_MS = 1_000;
/** The same where the database tells nothing by itself. */
const POLL_EVERY_MS = 100;

const write = (hint: Hint): string => {
  if (hint.kind === 'message') return `m ${hint.accountId} ${hint.inboxId}`;
  if (hint.kind === 'inbox') return `i ${hint.inboxId}`;
  return hint.kind === 'deliveries' ? 'd' : '*';
};

function read(text: string): Hint {
  const [kind, first = '', second = ''] = text.split(' ');
  if (kind === 'm') return { kind: 'message', accountId: first, inboxId: second };
  if (kind === 'i') return { kind: 'inbox', inboxId: first };
  return { kind: kind === 'd' ? 'deliveries' : 'all' };
}

/** What other nodes have to know after a call. */
export function hintsAfter(method: MethodPath, args: readonly unknown[], result: unknown): Hint[] {
  switch (method) {
    case 'messages.addBatch':
      return (result as Placed[][]).flat().flatMap((placed) => {
        if (!('messageId' in placed)) return [];
        const { accountId, inboxId } = placed;
        const message: Hint = { kind: 'message', accountId, inboxId };
        return placed.deliveries ? [message, { kind: 'deliveries' }] : [message];
      });
    case 'inboxes.create': {
      const { accountId, id: inboxId, messageCount } = (result as CreatedInbox).inbox;
      return messageCount === 0 ? [] : [{ kind: 'message', accountId, inboxId }, { kind: 'deliveries' }];
    }
    case 'inboxes.setExpiry':
    case 'inboxes.delete':
      return [{ kind: 'inbox', inboxId: String(args[1]) }];
    case 'messages.mark':
    case 'messages.delete':
    case 'messages.deleteAll':
      return [{ kind: 'inbox', inboxId: String(args[0]) }];
    case 'deliveries.addTest':
    case 'deliveries.replay':
    case 'deliveries.replaySome':
      return [{ kind: 'deliveries' }];
    case 'inboxes.deleteByLabels':
    case 'accounts.delete':
      return [{ kind: 'all' }];
    default:
      return [];
  }
}

/** Ids with held waits of this node. */
export interface Waiting {
  inboxes: string[];
  accounts: string[];
}

export interface HintsDeps {
  pool: Pick<Connections, 'query'>;
  /** Where the connection that listens goes; null where none is kept, and changes are asked for instead. */
  listensAt: Servers | null;
  clock: Clock;
  /** Distinguishes the hints of this node from those of others. */
  node: string;
  /** Called for each hint of another node. */
  onHint(hint: Hint): void;
  waiting(): Waiting;
  onError(error: Error): void;
}

/** Sends hints to the other nodes, and receives theirs. */
export class Hints {
  readonly #deps: HintsDeps;
  readonly #stop = new AbortController();
  readonly #outbox = new Set<string>();
  /** Last known versions of what is waited for, by id. */
  #versions = new Map<string, number>();
  #listener: Client | undefined;
  #running: Promise<unknown> = Promise.resolve();

  constructor(deps: HintsDeps) {
    this.#deps = deps;
  }

  /** Resolves when hints of other nodes are received. */
  async start(): Promise<void> {
    const { listensAt } = this.#deps;
    if (listensAt) await this.#listen(listensAt);
    const listening = listensAt ? [this.#keepListening(listensAt), this.#keepAlive(listensAt)] : [];
    this.#running = Promise.all([...listening, this.#keepChecking()]);
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#listener?.end().catch(this.#deps.onError);
    await this.#running;
  }

  /** Sends hints soon. */
  send(hints: readonly Hint[]): void {
    if (hints.length === 0 || this.#stop.signal.aborted || !this.#deps.listensAt) return;
    const isIdle = this.#outbox.size === 0;
    for (const hint of hints) this.#outbox.add(write(hint));
    if (isIdle) void this.#flush();
  }

  async #flush(): Promise<void> {
    const { clock, node, pool, onError } = this.#deps;
    await clock.sleep(GATHER_MS, this.#stop.signal);
    const all = [...this.#outbox];
    this.#outbox.clear();
    const hints = all.length > MAX_HINTS ? ['*'] : all;
    for (let at = 0; at < hints.length; at += HINTS_PER_PAYLOAD) {
      const payload = [node, ...hints.slice(at, at + HINTS_PER_PAYLOAD)].join(',');
      // A lost hint costs the others a second; see #keepChecking.
      await pool.query('select pg_notify($1, $2)', [CHANNEL, payload]).catch(onError);
    }
  }

  async #listen(servers: Servers): Promise<void> {
    const client = await connectAlone(servers, this.#deps.onError, { query_timeout: SILENT_AFTER_MS });
    client.on('error', () => this.#lose(client));
    client.on('end', () => this.#lose(client));
    client.on('notification', ({ payload = '' }) => this.#receive(payload));
    await client.query(`listen ${CHANNEL}`);
    this.#listener = client;
  }

  #lose(client: Client): void {
    if (this.#listener === client) this.#listener = undefined;
  }

  #receive(payload: string): void {
    const [node, ...hints] = payload.split(',');
    if (node === this.#deps.node) return;
    for (const hint of hints) this.#deps.onHint(read(hint));
  }

  async #keepListening(servers: Servers): Promise<void> {
    const { clock, onHint, onError } = this.#deps;
    while (!this.#stop.signal.aborted) {
      await clock.sleep(RECONNECT_AFTER_MS, this.#stop.signal);
      if (this.#listener || this.#stop.signal.aborted) continue;
      try {
        await this.#listen(servers);
        // Hints were lost meanwhile.
        onHint({ kind: 'all' });
      } catch (error) {
        onError(toError(error));
      }
    }
  }

  async #keepAlive(servers: Servers): Promise<void> {
    const { clock, onError } = this.#deps;
    while (!this.#stop.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, this.#stop.signal);
      const listener = this.#listener;
      if (!listener || this.#stop.signal.aborted) continue;
      await listener.query('select 1').catch((error: Error) => {
        onError(error);
        this.#lose(listener);
        // If there are several servers, another one may be the primary by now.
        servers.leave(servers.url);
        void listener.end().catch(onError);
      });
    }
  }

  async #keepChecking(): Promise<void> {
    const { clock, onError, onHint, listensAt } = this.#deps;
    const checks = listensAt ? 1 : CHECK_EVERY_MS / POLL_EVERY_MS;
    for (let count = 1; !this.#stop.signal.aborted; count++) {
      await clock.sleep(CHECK_EVERY_MS / checks, this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      await this.#check().catch(onError);
      // Whether deliveries are due is not part of a check.
      if (!listensAt && count % checks === 0) onHint({ kind: 'deliveries' });
    }
  }

  /** Compares the versions of all that is waited for; what is new here counts as changed once. */
  async #check(): Promise<void> {
    const { pool, waiting, onHint } = this.#deps;
    const { inboxes, accounts } = waiting();
    const versions = new Map<string, number>();
    if (inboxes.length + accounts.length > 0) {
      const { rows } = await pool.query({
        name: 'versions',
        text: `select id, version, 'inbox' as kind from inboxes where id = any($1)
          union all select a.id, o.last, 'account' from accounts a join account_orders o on o.account_seq = a.seq
          where a.id = any($2)`,
        values: [inboxes, accounts],
      });
      for (const { id, version, kind } of rows) {
        versions.set(id, version);
        if (this.#versions.get(id) === version) continue;
        onHint(kind === 'inbox' ? { kind, inboxId: id } : { kind: 'message', accountId: id, inboxId: '' });
      }
    }
    this.#versions = versions;
  }
}
