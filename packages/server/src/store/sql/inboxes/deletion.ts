import { keepForReports } from '../../../reports/sql.ts';
import { moveWebhookEnds } from '../../../webhooks/sql/webhooks.ts';
import type { InboxStore } from '../../contract/index.ts';
import { freeInSteps, freeNowOrLater, INBOXES_PER_STEP, type Removal } from '../delete-in-steps.ts';
import type { Engine, Tx } from '../engine.ts';
import { kitOn } from '../kit-on.ts';
import { DELETED } from '../tables/index.ts';
import { vacateAddresses } from './addresses.ts';
import { liveInboxes } from './live-inboxes.ts';

/** Deleting inboxes: they end at once, and what they had is removed in steps. */
export function createInboxDeletion(
  engine: Engine,
  removal: Removal,
): Pick<InboxStore, 'delete' | 'deleteByLabels'> {
  const { dialect, transaction } = engine;

  /** Makes those unreadable that are live, quarantines their addresses and ends their webhooks; returns their ids. */
  async function end(tx: Tx, accountId: string, inboxIds: readonly string[], now: number): Promise<string[]> {
    // Locked in the order of the intake, upwards: otherwise the two could deadlock.
    const live = await dialect
      .lockRows(
        tx
          .selectFrom('inboxes')
          .select(['id', 'address'])
          .where('id', 'in', inboxIds)
          .where('account_id', '=', accountId)
          .where('expires_at', '>', now)
          .orderBy('id'),
      )
      .execute();
    if (live.length === 0) return [];
    const ids = live.map(({ id }) => id);
    await tx
      .updateTable('inboxes')
      .set((row) => ({ expires_at: DELETED, version: row('version', '+', 1) }))
      .where('id', 'in', ids)
      .execute();
    await vacateAddresses(tx, live, now);
    await moveWebhookEnds(kitOn(tx), accountId, ids, now);
    await keepForReports(kitOn(tx), ids, now);
    return ids;
  }

  /** Removes what is left of ended inboxes; the sweeper does the same if this is interrupted. */
  const free = (inboxIds: string[], now: number, first?: 'step'): Promise<void> =>
    freeNowOrLater(() =>
      freeInSteps(engine, (tx, limit) => removal.freeDeletedInboxes(tx, limit, inboxIds, now), first),
    );
  const freeSources = (): Promise<void> =>
    freeNowOrLater(() => freeInSteps(engine, (tx, limit) => removal.sources.freeParked(tx, limit)));

  return {
    async delete(accountId, inboxId, now) {
      const ended = await transaction((tx) => end(tx, accountId, [inboxId], now));
      if (ended.length === 0) return false;
      await free(ended, now);
      await freeSources();
      return true;
    },

    async deleteByLabels(accountId, labels, now) {
      if (Object.keys(labels).length === 0) throw new RangeError('deleteByLabels needs at least one label.');
      const deleted: string[] = [];
      // Downwards by id, so that inboxes created during the deletion do not make it endless.
      for (let before: string | null = null; ; ) {
        const walked: { ids: string[]; ended: string[] } = await transaction(async (tx) => {
          const found = await liveInboxes(tx, accountId, labels, before, now)
            .select('i.id')
            .where('i.kind', '!=', 'sink')
            .limit(INBOXES_PER_STEP)
            .execute();
          const ids = found.map(({ id }) => id);
          return { ids, ended: ids.length === 0 ? [] : await end(tx, accountId, ids, now) };
        }, 'step');
        if (walked.ended.length > 0) await free(walked.ended, now, 'step');
        deleted.push(...walked.ended);
        before = walked.ids.at(-1) ?? null;
        if (walked.ids.length < INBOXES_PER_STEP) break;
      }
      await freeSources();
      return deleted;
    },
  };
}
