import { REFUSAL_KEPT_MS, TOMBSTONE_MS } from '../core/limits.ts';
import type { Db, Tx } from './dialect.ts';
import type { FreeMessages } from './freeing.ts';
import type { Sources } from './sources.ts';
import type { Upkeep } from './store.ts';

/** Frees about `limit` rows that are past their time at `now`; fewer mean that nothing is left. */
type Chore = (tx: Tx, limit: number, now: number) => Promise<number>;

/** Frees the messages of inboxes that ended, deleted ones first. */
function freeEndedInboxes(freeMessages: FreeMessages): Chore {
  return async (tx, limit, now) => {
    let freed = 0;
    while (freed < limit) {
      const ended = await tx
        .selectFrom('inboxes')
        .select('seq')
        .where('freed', '=', 0)
        .where('expires_at', '<=', now)
        .orderBy('expires_at')
        .limit(1)
        .executeTakeFirst();
      if (!ended) break;
      const left = limit - freed;
      const rows = await freeMessages(tx, ended.seq, left);
      freed += rows;
      if (rows >= left) break;
      await tx
        .updateTable('inboxes')
        .set({ freed: 1, message_count: 0 })
        .where('seq', '=', ended.seq)
        .execute();
      freed += 1;
    }
    return freed;
  };
}

const removeTombstones: Chore = async (tx, limit, now) => {
  const old = tx
    .selectFrom('inboxes')
    .select('seq')
    .where('freed', '=', 1)
    .where('expires_at', '<=', now - TOMBSTONE_MS)
    .limit(limit);
  return (await tx.deleteFrom('inboxes').where('seq', 'in', old).returning('seq').execute()).length;
};

const removeReservations: Chore = async (tx, limit, now) => {
  // A live inbox's address is reserved for days longer than the inbox lives.
  const old = tx.selectFrom('addresses').select('address').where('reserved_until', '<=', now).limit(limit);
  return (await tx.deleteFrom('addresses').where('address', 'in', old).returning('address').execute()).length;
};

const removeRefusals: Chore = async (tx, limit, now) => {
  const old = tx
    .selectFrom('refusals')
    .select('seq')
    .where('at', '<=', now - REFUSAL_KEPT_MS)
    .limit(limit);
  return (await tx.deleteFrom('refusals').where('seq', 'in', old).returning('seq').execute()).length;
};

const removeIdempotencyKeys: Chore = async (tx, limit, now) => {
  const old = await tx
    .selectFrom('idempotency')
    .select(['key_id', 'key_hash'])
    .where('expires_at', '<=', now)
    .limit(limit)
    .execute();
  for (const { key_id, key_hash } of old) {
    await tx
      .deleteFrom('idempotency')
      .where('key_id', '=', key_id)
      .where('key_hash', '=', key_hash)
      .execute();
  }
  return old.length;
};

/** The part of the store that frees space; no read depends on it. */
export function createUpkeep(db: Db, sources: Sources, freeMessages: FreeMessages): Upkeep {
  const freeParked: Chore = (tx, limit) => sources.freeParked(tx, limit);
  const chores: Chore[] = [
    freeEndedInboxes(freeMessages),
    // After the inboxes, because these leave their large sources to it.
    freeParked,
    removeTombstones,
    removeReservations,
    removeRefusals,
    removeIdempotencyKeys,
  ];
  return {
    sweep: (now, limit) =>
      db.transaction().execute(async (tx) => {
        let freed = 0;
        for (const chore of chores) {
          if (freed >= limit) break;
          freed += await chore(tx, limit - freed, now);
        }
        return freed;
      }),
  };
}
