import { sql } from 'kysely';
import type { InboxStore } from '../contract/index.ts';
import { TOMBSTONE_MS } from '../contract/retention.ts';
import type { Db } from '../sql/engine.ts';
import { INBOX_COLUMNS, type InboxRow, toInbox } from '../sql/inboxes/inboxes.ts';
import { prepare, type Slots } from '../sql/prepared.ts';

/** Statements that one kind of read has under way; what is asked for meanwhile goes into the next one. */
const MAX_RUNNING = 2;
/** Keys of one statement. */
const MAX_KEYS = 200;

interface Question<Row> {
  key: string;
  resolve(row: Row | undefined): void;
  reject(error: unknown): void;
}

/**
 * Reads rows by a key: all that is asked for in one turn of the event loop, by one statement. A poll without
 * news is such a read, and costs PostgreSQL a tenth of a statement of its own.
 * @param readMany returns the rows of some keys, each key once
 * @param keyOf the key of a row
 */
function gathered<Row>(
  readMany: (keys: string[]) => Promise<Row[]>,
  keyOf: (row: Row) => string,
): (key: string) => Promise<Row | undefined> {
  const waiting: Question<Row>[] = [];
  let running = 0;
  let scheduled = false;

  async function readNext(): Promise<void> {
    const questions = waiting.splice(0, MAX_KEYS);
    running += 1;
    try {
      const rows = await readMany([...new Set(questions.map(({ key }) => key))]);
      const byKey = new Map(rows.map((row) => [keyOf(row), row]));
      for (const { key, resolve } of questions) resolve(byKey.get(key));
    } catch (error) {
      for (const { reject } of questions) reject(error);
    } finally {
      running -= 1;
      schedule();
    }
  }

  function schedule(): void {
    if (scheduled || running >= MAX_RUNNING || waiting.length === 0) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      while (waiting.length > 0 && running < MAX_RUNNING) void readNext();
    });
  }

  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject });
      schedule();
    });
}

/** The reads of inboxes that polls make, gathered. */
export function createGatheredReads(db: Db): Pick<InboxStore, 'find' | 'findByToken'> {
  const selectBy = (column: 'id' | 'token_hash') =>
    prepare((value: Slots<{ keys: string[] }>) =>
      db
        .selectFrom('inboxes')
        .select(INBOX_COLUMNS)
        .select('token_hash')
        .where((row) => sql<boolean>`${row.ref(column)} = any(${value.keys})`),
    );
  const selectById = selectBy('id');
  const selectByToken = selectBy('token_hash');
  const byId = gathered(
    (keys) => selectById(db, { keys }),
    (row) => row.id,
  );
  const byToken = gathered(
    (keys) => selectByToken(db, { keys }),
    (row) => row.token_hash,
  );
  const toRecord = (row: InboxRow | undefined, now: number) =>
    row && row.expires_at > now - TOMBSTONE_MS ? toInbox(row, now) : undefined;
  return {
    async find(accountId, inboxId, now) {
      const row = await byId(inboxId);
      return row?.account_id === accountId ? toRecord(row, now) : undefined;
    },
    findByToken: async (tokenHash, now) => toRecord(await byToken(tokenHash), now),
  };
}
