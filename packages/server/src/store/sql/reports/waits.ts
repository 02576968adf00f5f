import {
  type EndedWait,
  type HeldCounts,
  type InboxWaits,
  MAX_FAILED_WAITS,
  type ReportStore,
} from '../../contract/reports.ts';
import type { Engine, Tx } from '../engine.ts';
import { DELETED } from '../tables/index.ts';

const NONE: HeldCounts = { withMessages: 0, empty: 0 };
const NO_WAITS: InboxWaits = { succeeded: 0, failed: 0, lists: NONE, streams: NONE, failures: [] };

/** Earlier versions stored neither lists nor streams. */
export const waitsOf = (stored: string | null): InboxWaits => ({
  ...NO_WAITS,
  ...(stored !== null && JSON.parse(stored)),
});

/** Stored waits, with some more. */
function addTo(stored: string | null, ended: readonly EndedWait[]): string {
  const { succeeded, failed, failures, lists, streams } = waitsOf(stored);
  const waits = ended.flatMap((one) => (one.kind === 'wait' ? one.failed : []));
  const inVain = waits.filter((wait) => wait !== null);
  const heldOf = (kind: 'list' | 'stream', { withMessages, empty }: HeldCounts): HeldCounts => {
    const more = ended.flatMap((one) => (one.kind === kind ? one.hadMessages : []));
    const found = more.filter(Boolean).length;
    return { withMessages: withMessages + found, empty: empty + more.length - found };
  };
  return JSON.stringify({
    succeeded: succeeded + waits.length - inVain.length,
    failed: failed + inVain.length,
    ...{ lists: heldOf('list', lists), streams: heldOf('stream', streams) },
    failures: [...failures, ...inVain].slice(0, MAX_FAILED_WAITS),
  });
}

/** `ReportStore.addWaits`: all of them in one transaction. */
export function createAddWaits({ dialect, transaction }: Engine): ReportStore['addWaits'] {
  /** @returns false when the inbox is deleted */
  async function addToInbox(tx: Tx, inboxId: string, ended: readonly EndedWait[]): Promise<boolean> {
    // Locked, so that a deletion copies the waits after this transaction.
    const inbox = await dialect
      .lockRows(
        tx.selectFrom('inboxes').select('seq').where('id', '=', inboxId).where('expires_at', '>', DELETED),
      )
      .executeTakeFirst();
    if (!inbox) return false;
    const { seq } = inbox;
    const stored = await tx
      .selectFrom('inbox_waits')
      .select('waits')
      .where('inbox_seq', '=', seq)
      .executeTakeFirst();
    const waits = addTo(stored?.waits ?? null, ended);
    await tx
      .insertInto('inbox_waits')
      .values({ inbox_seq: seq, waits })
      .onConflict((conflict) => conflict.column('inbox_seq').doUpdateSet({ waits }))
      .execute();
    return true;
  }

  async function addToDeleted(tx: Tx, inboxId: string, ended: readonly EndedWait[]): Promise<void> {
    const rows = tx.selectFrom('deleted_inboxes').select('waits').where('id', '=', inboxId);
    const stored = await dialect.lockRows(rows).executeTakeFirst();
    if (!stored) return;
    const waits = addTo(stored.waits, ended);
    await tx.updateTable('deleted_inboxes').set({ waits }).where('id', '=', inboxId).execute();
  }

  return (waits) =>
    transaction(async (tx) => {
      const byInbox = [...Map.groupBy(waits, ({ inboxId }) => inboxId)];
      // In the order in which batches of mails lock inboxes, so that the two never wait for each other.
      byInbox.sort(([a], [b]) => (a < b ? -1 : 1));
      for (const [inboxId, ended] of byInbox) {
        if (!(await addToInbox(tx, inboxId, ended))) await addToDeleted(tx, inboxId, ended);
      }
    });
}
