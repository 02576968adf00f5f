import type { Selectable } from 'kysely';
import type { InboxRecord, InboxStore } from '../../contract/index.ts';
import { TOMBSTONE_MS } from '../../contract/retention.ts';
import { type FreeStep, freeInSteps, freeNowOrLater, inSequence, type Removal } from '../delete-in-steps.ts';
import type { Db, Engine, Tx } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { DELETED, type InboxesTable, type Tables } from '../tables.ts';
import { cancelOfInbox } from '../webhooks/queue.ts';
import { moveWebhookEnd } from '../webhooks/webhooks.ts';
import { moveAddressEnd, vacateAddress } from './addresses.ts';
import { createInbox, pairOf } from './create-inbox.ts';
import { createTakers, takerOf } from './takers.ts';

const COLUMNS = [
  'id',
  'account_id',
  'address',
  'labels',
  'ttl_minutes',
  'created_at',
  'expires_at',
  'max_expires_at',
  'message_count',
  'last_received_at',
  'version',
  'kind',
  'freed',
] as const satisfies (keyof Tables['inboxes'])[];

/** @param now epoch milliseconds; an inbox that was swept has ended, also when the clock runs back before its end */
function toInbox(row: Pick<Selectable<InboxesTable>, (typeof COLUMNS)[number]>, now: number): InboxRecord {
  const at = row.address.lastIndexOf('@');
  return {
    id: row.id,
    kind: row.kind,
    accountId: row.account_id,
    address: row.address,
    localPart: row.address.slice(0, at),
    domain: row.address.slice(at + 1),
    labels: JSON.parse(row.labels),
    ttlMinutes: row.ttl_minutes,
    createdAt: row.created_at,
    expiresAt: row.freed === 0 ? row.expires_at : Math.min(row.expires_at, now),
    maxExpiresAt: row.max_expires_at,
    messageCount: row.message_count,
    lastReceivedAt: row.last_received_at,
    version: row.version,
  };
}

type Labels = Record<string, string>;

/** An account's live inboxes that have all `labels`, newest first, those before the id `before`. */
function liveInboxes(db: Db, accountId: string, labels: Labels, before: string | null, now: number) {
  let query = db
    .selectFrom('inboxes as i')
    .where('i.account_id', '=', accountId)
    .where('i.expires_at', '>', now)
    .where('i.freed', '=', 0)
    .orderBy('i.id', 'desc');
  if (before !== null) query = query.where('i.id', '<', before);
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

/** The queries that only read. */
function createReads(db: Db): Pick<InboxStore, 'find' | 'findByToken' | 'list'> {
  const selectById = prepare((value: Slots<{ accountId: string; inboxId: string; after: number }>) =>
    db
      .selectFrom('inboxes')
      .select(COLUMNS)
      .where('id', '=', value.inboxId)
      .where('account_id', '=', value.accountId)
      .where('expires_at', '>', value.after),
  );
  const selectByToken = prepare((value: Slots<{ tokenHash: string; after: number }>) =>
    db
      .selectFrom('inboxes')
      .select(COLUMNS)
      .where('token_hash', '=', value.tokenHash)
      .where('expires_at', '>', value.after),
  );
  return {
    async find(accountId, inboxId, now) {
      const [row] = await selectById(db, { accountId, inboxId, after: now - TOMBSTONE_MS });
      return row && toInbox(row, now);
    },

    async findByToken(tokenHash, now) {
      const [row] = await selectByToken(db, { tokenHash, after: now - TOMBSTONE_MS });
      return row && toInbox(row, now);
    },

    async list(accountId, { labels, address, limit, before }, now) {
      let query = liveInboxes(db, accountId, labels, before, now);
      if (address !== undefined) query = query.where('i.id', '=', takerOf(db, address, now));
      const rows = await query
        .select(COLUMNS.map((column) => `i.${column}` as const))
        .limit(limit + 1)
        .execute();
      return { inboxes: rows.slice(0, limit).map((row) => toInbox(row, now)), hasMore: rows.length > limit };
    },
  };
}

/** Inboxes ended in one transaction: a millisecond or two, for which other writes wait. */
const ENDED_PER_STEP = 50;

export function createInboxes(engine: Engine, removal: Removal): InboxStore {
  const { db, dialect, transaction } = engine;

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
    return true;
  }

  /** Removes what is left of ended inboxes; the sweeper does the same if this is interrupted. */
  const free = (inboxIds: string[], now: number): Promise<void> =>
    freeNowOrLater(() =>
      freeInSteps(
        engine,
        inSequence(
          ...inboxIds.flatMap((inboxId): FreeStep[] => [
            (tx, limit) => cancelOfInbox(tx, limit, inboxId, now),
            (tx, limit) => removal.freeDeletedInbox(tx, limit, inboxId),
          ]),
          (tx, limit) => removal.sources.freeParked(tx, limit),
        ),
      ),
    );

  return {
    ...createReads(db),
    ...createTakers(db),

    create: (accountId, inbox, maxLiveInboxes, request, webhook = null) =>
      transaction((tx) => createInbox(tx, dialect, { accountId, inbox, maxLiveInboxes, request, webhook })),

    setExpiry: (accountId, inboxId, { ttlMinutes, expiresAt }, now) =>
      transaction(async (tx) => {
        const row = await tx
          .updateTable('inboxes')
          .set((row) => ({
            ttl_minutes: ttlMinutes,
            expires_at: expiresAt,
            version: row('version', '+', 1),
          }))
          .where('id', '=', inboxId)
          .where('account_id', '=', accountId)
          .where('expires_at', '>', now)
          .where('freed', '=', 0)
          .returning(COLUMNS)
          .executeTakeFirst();
        if (!row) return undefined;
        await moveAddressEnd(tx, { address: row.address, inboxId, expiresAt });
        await moveWebhookEnd(tx, { accountId, inboxId, expiresAt });
        return toInbox(row, now);
      }),

    async delete(accountId, inboxId, now) {
      const ended = await transaction((tx) => end(tx, accountId, inboxId, now));
      if (!ended) return false;
      await free([inboxId], now);
      return true;
    },

    async deleteByLabels(accountId, labels, now) {
      if (Object.keys(labels).length === 0) throw new RangeError('deleteByLabels needs at least one label.');
      let deleted = 0;
      // Downwards by id, so that inboxes created meanwhile do not make the walk endless.
      for (let before: string | null = null; ; ) {
        const walked: { ids: string[]; ended: string[] } = await transaction(async (tx) => {
          const ids = await liveInboxes(tx, accountId, labels, before, now)
            .select('i.id')
            .where('i.kind', '!=', 'sink')
            .limit(ENDED_PER_STEP)
            .execute();
          const ended: string[] = [];
          for (const { id } of ids) if (await end(tx, accountId, id, now)) ended.push(id);
          return { ids: ids.map(({ id }) => id), ended };
        });
        await free(walked.ended, now);
        deleted += walked.ended.length;
        before = walked.ids.at(-1) ?? null;
        if (walked.ids.length < ENDED_PER_STEP) return deleted;
      }
    },
  };
}
