import type { Engine, Tx } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { aheadAt } from './schedule.ts';

/** Wakes taken in one transaction: some milliseconds. The next claim takes more. */
const WAKES_PER_TRANSACTION = 1_000;

/** The wakes of a webhook together. */
interface Woken {
  added: number;
  /** The latest `due_at` among the new deliveries. */
  at: number;
}

/**
 * Prepares taking wakes: their webhooks become due unless they are blocked. Several nodes may do it at once.
 * @returns a function that takes the wakes made up to `until` at the schedule's time `now` and returns how many
 */
export function createTakeWakes({ db, dialect }: Engine) {
  const take = prepare((value: Slots<{ until: number }>) => {
    const oldest = db
      .selectFrom('wakes')
      .select('seq')
      .where('at', '<=', value.until)
      .orderBy('seq')
      .limit(WAKES_PER_TRANSACTION);
    return db
      .deleteFrom('wakes')
      .where('seq', 'in', dialect.lockFreeRows(oldest))
      .returning(['webhook_id', 'at', 'added']);
  });
  const makeDue = prepare((value: Slots<{ webhook: string; added: number; now: number }>) =>
    db
      .updateTable('webhooks')
      .set((row) => ({
        kept: row('kept', '+', value.added),
        next_at: row
          .case()
          .when('next_at', '<', value.now)
          .then(row.ref('next_at'))
          .when('blocked_until', '>', value.now)
          .then(row.ref('blocked_until'))
          .else(value.now)
          .end(),
      }))
      .where(
        'id',
        'in',
        dialect.lockFreeRows(db.selectFrom('webhooks').select('id').where('id', '=', value.webhook)),
      )
      .returning(['id', 'prompt', 'scheduled_at', 'ahead_ms']),
  );
  const find = prepare((value: Slots<{ webhook: string }>) =>
    db.selectFrom('webhooks').select('id').where('id', '=', value.webhook),
  );
  const putBack = prepare((value: Slots<Woken & { webhook: string }>) =>
    db.insertInto('wakes').values({ webhook_id: value.webhook, at: value.at, added: value.added }),
  );
  /** The first attempt is due at once, whatever the clock of the node that added it said. */
  const pullIn = prepare((value: Slots<{ webhook: string; now: number; at: number }>) =>
    db
      .updateTable('deliveries')
      .set({ due_at: value.now })
      .where('webhook_id', '=', value.webhook)
      .where('due_at', '>', value.now)
      .where('due_at', '<=', value.at)
      .where('round', '=', 0),
  );

  return async (tx: Tx, until: number, now: number): Promise<number> => {
    const taken = await take(tx, { until });
    const woken = new Map<string, Woken>();
    for (const { webhook_id, at, added } of taken) {
      const before = woken.get(webhook_id) ?? { added: 0, at };
      woken.set(webhook_id, { added: before.added + added, at: Math.max(before.at, at) });
    }
    // In the order of their ids, so that no two transactions wait for each other.
    for (const [webhook, { added, at }] of [...woken].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const [row] = await makeDue(tx, { webhook, added, now });
      if (!row) {
        // Deleted, or locked by a claim, for whose end no other claim waits.
        const [locked] = await find(tx, { webhook });
        if (locked) await putBack(tx, { webhook, added, at });
        continue;
      }
      const dueAt = now + aheadAt(row, now);
      if (at > dueAt) await pullIn(tx, { webhook, now: dueAt, at });
    }
    return taken.length;
  };
}
