import { sql } from 'kysely';
import type { MessageStore } from '../../contract/index.ts';
import type { Engine } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { laterThanEmptied } from './rows.ts';

/** As many messages as an inbox holds. */
const MAX_ROWS = 10_000;

/** One text for all rows: a row of its own for each would cost more than finding them. */
export function createRecipients({ db }: Engine): Pick<MessageStore, 'recipients'> {
  const select = prepare((value: Slots<{ inboxId: string; after: number; now: number }>) => {
    const inbox = db
      .selectFrom('inboxes as i')
      .where('i.id', '=', value.inboxId)
      .where('i.expires_at', '>', value.now);
    const newest = db
      .selectFrom('messages as m')
      .select(sql<string>`m.received_at || ' ' || m.rcpt_to`.as('line'))
      .where('m.inbox_seq', '=', inbox.select('i.seq'))
      .where('m.received_at', '>', inbox.select(laterThanEmptied(value.after).as('after')))
      .orderBy('m.received_at', 'desc')
      .limit(MAX_ROWS)
      .as('newest');
    return db.selectFrom(newest).select(sql<string | null>`string_agg(line, '\n')`.as('lines'));
  });
  return {
    async recipients(inboxId, after, now) {
      const [row] = await select(db, { inboxId, after, now });
      return row?.lines ?? '';
    },
  };
}
