import type { Tx } from '../database/operations.ts';
import { newId } from '../ids.ts';
import type { InboxRecord, StagedMails } from '../inboxes/records.ts';
import { onKysely } from '../store/sql/bridge.ts';
import { createRemoval } from '../store/sql/delete-in-steps.ts';
import { giveUpStaged, placeStaged as place } from '../store/sql/messages/staged.ts';

/* Messages are not written as SQL yet; this file goes when they are. */

export function freeMessages(tx: Tx, inbox: number, limit: number, released: number[]): Promise<number> {
  const { tx: kysely, engine } = onKysely(tx);
  return createRemoval(engine).freeMessages(kysely, inbox, limit, released);
}

export function freeEmptied(tx: Tx, limit: number): Promise<number> {
  const { tx: kysely, engine } = onKysely(tx);
  return createRemoval(engine).freeEmptied(kysely, limit);
}

export function releaseSources(tx: Tx, released: readonly number[]): Promise<void> {
  const { tx: kysely, engine } = onKysely(tx);
  return createRemoval(engine).sources.release(kysely, released);
}

export function freeParked(tx: Tx, limit: number): Promise<number> {
  const { tx: kysely, engine } = onKysely(tx);
  return createRemoval(engine).sources.freeParked(kysely, limit);
}

export const giveUpStagedBefore = (tx: Tx, time: number): Promise<number> =>
  giveUpStaged(onKysely(tx).tx, '<', newId('msg', time));

export function placeStaged(
  tx: Tx,
  inserted: { inbox: InboxRecord; seq: number },
  staged: StagedMails,
): Promise<InboxRecord> {
  const { tx: kysely, engine } = onKysely(tx);
  return place(kysely, engine.dialect, inserted, staged);
}
