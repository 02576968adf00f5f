import type { Db } from '../engine.ts';
import { pairOf } from './create-inbox.ts';

type Labels = Record<string, string>;

/** An account's live inboxes that have all `labels`, newest first, those before the id `before`. */
export function liveInboxes(db: Db, accountId: string, labels: Labels, before: string | null, now: number) {
  const query = inboxesByLabels(db, accountId, labels)
    .where('i.expires_at', '>', now)
    .where('i.freed', '=', 0);
  return before === null ? query : query.where('i.id', '<', before);
}

/** An account's inboxes that have all `labels`, ended ones too, newest first. */
export function inboxesByLabels(db: Db, accountId: string, labels: Labels) {
  let query = db.selectFrom('inboxes as i').where('i.account_id', '=', accountId).orderBy('i.id', 'desc');
  for (const [name, value] of Object.entries(labels)) {
    query = query.where('i.id', 'in', (label) =>
      label
        .selectFrom('inbox_labels as l')
        .select('l.inbox_id')
        .where('l.account_id', '=', accountId)
        .where('l.pair', '=', pairOf(name, value)),
    );
  }
  return query;
}
