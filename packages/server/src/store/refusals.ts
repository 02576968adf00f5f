import { REFUSAL_KEPT_MS } from '../core/limits.ts';
import type { Db, Tx } from './dialect.ts';
import type { Refusal, RefusalStore } from './store.ts';

/** Enough to explain a failed test; one sender that tries again and again must not fill the store. */
const MAX_PER_ADDRESS = 50;
/** A few megabytes in all, however many addresses a stranger tries. */
const MAX_IN_ALL = 10_000;

/** Removes what is beyond a bound, the oldest first. */
async function trim(tx: Tx, keep: number, removable: number, address?: string): Promise<void> {
  let beyond = tx
    .selectFrom('refusals')
    .select('seq')
    .orderBy('at', 'desc')
    .orderBy('seq', 'desc')
    .offset(keep)
    .limit(removable);
  if (address !== undefined) beyond = beyond.where('address', '=', address);
  await tx.deleteFrom('refusals').where('seq', 'in', beyond).execute();
}

async function insert(tx: Tx, refusals: Refusal[]): Promise<void> {
  const byAddress = Map.groupBy(refusals, ({ address }) => JSON.stringify(address));
  for (const [address, all] of byAddress) {
    const kept = all.slice(-MAX_PER_ADDRESS);
    for (const { address: _, at, ...details } of kept) {
      await tx
        .insertInto('refusals')
        .values({ address, at, details: JSON.stringify(details) })
        .execute();
    }
    await trim(tx, MAX_PER_ADDRESS, kept.length, address);
  }
  await trim(tx, MAX_IN_ALL, refusals.length);
}

export function createRefusals(db: Db): RefusalStore {
  return {
    async add(refusals) {
      if (refusals.length > 0) await db.transaction().execute((tx) => insert(tx, refusals));
    },

    async list(address, limit, now) {
      const rows = await db
        .selectFrom('refusals')
        .select(['at', 'details'])
        .where('address', '=', JSON.stringify(address))
        .where('at', '>', now - REFUSAL_KEPT_MS)
        .orderBy('at', 'desc')
        .orderBy('seq', 'desc')
        .limit(limit)
        .execute();
      return rows.map(({ at, details }) => ({ at, address, ...JSON.parse(details) }));
    },
  };
}
