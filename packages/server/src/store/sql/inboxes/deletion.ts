import type { InboxStore } from '../../contract/index.ts';
import { freeInSteps, freeNowOrLater, type Removal } from '../delete-in-steps.ts';
import type { Engine, Tx } from '../engine.ts';
import { keepForReports } from '../reports/deleted-inboxes.ts';
import { DELETED } from '../tables/index.ts';
import { moveWebhookEnd } from '../webhooks/webhooks.ts';
import { vacateAddress } from './addresses.ts';
import { liveInboxes } from './live-inboxes.ts';

/** Inboxes ended in one transaction: a millisecond or two, for which other writes wait. */
const ENDED_PER_STEP = 50;

/** Deleting inboxes: they end at once, and what they had is removed in steps. */
export function createInboxDeletion(
  engine: Engine,
  removal: Removal,
): Pick<InboxStore, 'delete' | 'deleteByLabels'> {
  const { transaction } = engine;

  /** Makes a live inbox unreadable, quarantines its address and ends its webhooks. */
  async function end(tx: Tx, accountId: string, inboxId: string, now: number): Promise<boolean> {
    const ended = await tx
      .updateTable('inboxes')
      .set((row) => ({ expires_at: DELETED, version: row('version', '+', 1) }))
      .where('id', '=', inboxId)
      .where('account_id', '=', accountId)
      .where('expires_at', '>', now)
      .returning('address')
      .executeTakeFirst();
    if (!ended) return false;
    await vacateAddress(tx, { address: ended.address, inboxId }, now);
    await moveWebhookEnd(tx, { accountId, inboxId, expiresAt: now });
    await keepForReports(tx, inboxId, now);
    return true;
  }

  /** Removes what is left of ended inboxes; the sweeper does the same if this is interrupted. */
  const free = (inboxIds: string[], now: number): Promise<void> =>
    freeNowOrLater(async () => {
      // Each in transactions of its own: two that free several inboxes with the same sources could deadlock.
      for (const inboxId of inboxIds) {
        await freeInSteps(engine, (tx, limit) => removal.freeDeletedInbox(tx, limit, inboxId, now));
      }
      await freeInSteps(engine, (tx, limit) => removal.sources.freeParked(tx, limit));
    });

  return {
    async delete(accountId, inboxId, now) {
      const ended = await transaction((tx) => end(tx, accountId, inboxId, now));
      if (!ended) return false;
      await free([inboxId], now);
      return true;
    },

    async deleteByLabels(accountId, labels, now) {
      if (Object.keys(labels).length === 0) throw new RangeError('deleteByLabels needs at least one label.');
      const deleted: string[] = [];
      // Downwards by id, so that inboxes created during the deletion do not make it endless.
      for (let before: string | null = null; ; ) {
        const walked: { ids: string[]; ended: string[] } = await transaction(async (tx) => {
          const ids = await liveInboxes(tx, accountId, labels, before, now)
            .select('i.id')
            .where('i.kind', '!=', 'sink')
            .limit(ENDED_PER_STEP)
            .execute();
          const ended: string[] = [];
          // Locked in the order of the intake, upwards: otherwise the two could deadlock.
          for (const { id } of ids.toReversed()) if (await end(tx, accountId, id, now)) ended.push(id);
          return { ids: ids.map(({ id }) => id), ended };
        });
        await free(walked.ended, now);
        deleted.push(...walked.ended);
        before = walked.ids.at(-1) ?? null;
        if (walked.ids.length < ENDED_PER_STEP) return deleted;
      }
    },
  };
}
