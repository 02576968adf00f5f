import { DatabaseSync } from 'node:sqlite';
import { newId } from '../../packages/server/src/ids.ts';
import type { Inbox } from './mayfly.ts';

/** Inboxes that live at the same time: their mails lie among one another, as they would have come. */
const TOGETHER = 100;
const CACHE_KIB = 512 * 1024;

/**
 * Fills the database of a stopped server by copying its one message, without its source's bytes.
 * @param each messages of every inbox
 * @param withContent true where the text is read, too
 */
export function fillDatabase(
  path: string,
  inboxes: readonly Inbox[],
  each: number,
  { withContent = false } = {},
): void {
  const database = new DatabaseSync(path);
  try {
    database.function('message_id', (time) => newId('msg', Number(time)));
    // Nothing here has to survive a crash; the server opens it in its own way again.
    database.exec('pragma journal_mode = off; pragma synchronous = off; pragma foreign_keys = off');
    database.exec(`pragma cache_size = -${CACHE_KIB}`);
    for (let first = 0; first < inboxes.length; first += TOGETHER) {
      fillGroup(database, inboxes.slice(first, first + TOGETHER), each, withContent ? 'content' : "x'7b7d'");
    }
    database.exec('pragma journal_mode = wal');
  } finally {
    database.close();
  }
}

function fillGroup(database: DatabaseSync, inboxes: readonly Inbox[], each: number, content: string): void {
  const counted = 'with recursive n (i) as (select 0 union all select i + 1 from n where i + 1 < ?)';
  const last = Number(database.prepare('select max(seq) as seq from sources').get()?.seq);
  database.exec('begin');
  database
    .prepare(
      `${counted} insert into sources (seq, size, envelope, raw)
       select ? + i, size, envelope, x'' from n, sources where seq = 1`,
    )
    .run(inboxes.length * each, last + 1);
  database
    .prepare(
      `${counted} insert into readings (source_seq, size, parse_error, trail, summary, content)
       select ? + i, size, parse_error, trail, summary, ${content} from n, readings where source_seq = 1`,
    )
    .run(inboxes.length * each, last + 1);
  const messages = database.prepare(
    `${counted} insert into messages
       (inbox_seq, received_at, id, source_seq, rcpt_to, account_seq, account_order)
     select inboxes.seq, inboxes.created_at + 1 + i, message_id(inboxes.created_at + 1 + i), ? + i * ?,
       '["' || address || '"]', accounts.seq, account_orders.last + 1 + ? + i * ?
     from n, inboxes join accounts on accounts.id = inboxes.account_id
       join account_orders on account_orders.account_seq = accounts.seq where inboxes.id = ?`,
  );
  const counts = database.prepare(
    'update inboxes set message_count = ?, last_received_at = created_at + ?, version = version + 1 where id = ?',
  );
  inboxes.forEach(({ id }, index) => {
    messages.run(each, last + 1 + index, inboxes.length, index, inboxes.length, id);
    counts.run(each, each, id);
  });
  database.prepare('update account_orders set last = last + ?').run(inboxes.length * each);
  database.exec('commit');
}
