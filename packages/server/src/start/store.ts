import { join } from 'node:path';
import type { EventBus } from '../events.ts';
import { newSessionId } from '../ids.ts';
import type { Store } from '../store/contract/index.ts';
import { openPostgres } from '../store/postgres/open.ts';
import { openSqlite } from '../store/sqlite/open.ts';
import type { StartDeps } from './deps.ts';

/** Where the embedded store keeps its database inside the data folder. */
export const databasePath = (dataDir: string): string => join(dataDir, 'mayfly.db');

/**
 * Opens the store: the embedded one, or PostgreSQL, whose other nodes publish on the event bus of this one.
 * @param onWriting called when a write begins (1) and when it has ended (-1); only by the embedded store
 */
export function openStore(
  { config, clock, log }: StartDeps,
  events: EventBus,
  onWriting: (change: 1 | -1) => void,
): Promise<Store> {
  const onCrash = (err: Error) =>
    log.error({ err }, 'A thread of the database ended unexpectedly; its next call starts it again');
  if (config.databaseUrl === null) {
    const path = databasePath(config.dataDir);
    const onDamage = (err: Error) =>
      log.error(
        { err, path },
        'The database is damaged, as "err" says. "mayfly check" finds out what is affected',
      );
    const onEmptied = () =>
      log.warn(
        { path },
        'The database file is empty or missing, though a server has run on it before: this start makes a new one, without mail, accounts and keys. If that was not intended, stop the server and restore a backup with "mayfly restore"',
      );
    return openSqlite({ path, onWriting, onCrash, onDamage, onEmptied });
  }
  return openPostgres({
    url: config.databaseUrl,
    onCrash,
    onDamage: (err) => log.error({ err }, 'The database is damaged. "pg_amcheck" finds out what is affected'),
    onError: (err) => log.warn({ err }, 'A connection to the database failed; the next call opens a new one'),
    hints: {
      clock,
      node: newSessionId(),
      waiting: events.subscribed,
      onHint(hint) {
        if (hint.kind === 'message') events.publish(hint);
        else if (hint.kind === 'inbox') events.publishInboxChange(hint.inboxId);
        else if (hint.kind === 'deliveries') events.publishDeliveries();
        else events.publishAll();
      },
    },
  });
}
