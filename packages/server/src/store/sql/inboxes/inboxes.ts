import type { Selectable } from 'kysely';
import { moveWebhookEnds } from '../../../webhooks/sql/webhooks.ts';
import type { InboxRecord, InboxStore } from '../../contract/index.ts';
import { TOMBSTONE_MS } from '../../contract/retention.ts';
import type { Removal } from '../delete-in-steps.ts';
import type { Db, Engine } from '../engine.ts';
import { kitOn } from '../kit-on.ts';
import { prepare, type Slots } from '../prepared.ts';
import type { InboxesTable } from '../tables/inboxes.ts';
import type { Tables } from '../tables/index.ts';
import { moveAddressEnd } from './addresses.ts';
import { createInbox } from './create-inbox.ts';
import { createInboxDeletion } from './deletion.ts';
import { liveInboxes } from './live-inboxes.ts';
import { createTakers, takerOf } from './takers.ts';

/** What an InboxRecord is made from. */
export const INBOX_COLUMNS = [
  'id',
  'account_id',
  'address',
  'labels',
  'ttl_minutes',
  'created_at',
  'expires_at',
  'max_expires_at',
  'message_count',
  'received_messages',
  'last_received_at',
  'version',
  'kind',
  'freed',
  'replay_until',
] as const satisfies (keyof Tables['inboxes'])[];

export type InboxRow = Pick<Selectable<InboxesTable>, (typeof INBOX_COLUMNS)[number]>;

/** @param now epoch milliseconds; an inbox that was swept has ended, also when the clock runs back before its end */
export function toInbox(row: InboxRow, now: number): InboxRecord {
  const at = row.address.lastIndexOf('@');
  return {
    id: row.id,
    kind: row.kind,
    accountId: row.account_id,
    replay: row.replay_until === null ? 'none' : row.replay_until === 0 ? 'cut' : 'running',
    address: row.address,
    localPart: row.address.slice(0, at),
    domain: row.address.slice(at + 1),
    labels: JSON.parse(row.labels),
    ttlMinutes: row.ttl_minutes,
    createdAt: row.created_at,
    expiresAt: row.freed === 0 ? row.expires_at : Math.min(row.expires_at, now),
    maxExpiresAt: row.max_expires_at,
    messageCount: row.message_count,
    receivedCount: row.received_messages,
    lastReceivedAt: row.last_received_at,
    version: row.version,
  };
}

/** The queries that only read. */
function createReads(db: Db): Pick<InboxStore, 'find' | 'findByToken' | 'findTokenHash' | 'list'> {
  const selectById = prepare((value: Slots<{ accountId: string; inboxId: string; after: number }>) =>
    db
      .selectFrom('inboxes')
      .select(INBOX_COLUMNS)
      .where('id', '=', value.inboxId)
      .where('account_id', '=', value.accountId)
      .where('expires_at', '>', value.after),
  );
  const selectByToken = prepare((value: Slots<{ tokenHash: string; after: number }>) =>
    db
      .selectFrom('inboxes')
      .select(INBOX_COLUMNS)
      .where('token_hash', '=', value.tokenHash)
      .where('expires_at', '>', value.after),
  );
  const selectTokenHash = prepare((value: Slots<{ inboxId: string; now: number }>) =>
    db
      .selectFrom('inboxes')
      .select('token_hash')
      .where('id', '=', value.inboxId)
      .where('expires_at', '>', value.now)
      .where('freed', '=', 0),
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

    async findTokenHash(inboxId, now) {
      const [row] = await selectTokenHash(db, { inboxId, now });
      return row?.token_hash;
    },

    async list(accountId, { labels, address, limit, before }, now) {
      let query = liveInboxes(db, accountId, labels, before, now);
      if (address !== undefined) query = query.where('i.id', '=', takerOf(db, address, now));
      const rows = await query
        .select(INBOX_COLUMNS.map((column) => `i.${column}` as const))
        .limit(limit + 1)
        .execute();
      return { inboxes: rows.slice(0, limit).map((row) => toInbox(row, now)), hasMore: rows.length > limit };
    },
  };
}

export function createInboxes(engine: Engine, removal: Removal): InboxStore {
  const { db, dialect, transaction } = engine;
  return {
    ...createReads(db),
    ...createTakers(db),
    ...createInboxDeletion(engine, removal),

    create: (accountId, inbox, maxLiveInboxes, request, webhook = null, staged = null) =>
      transaction((tx) =>
        createInbox(tx, dialect, { accountId, inbox, maxLiveInboxes, request, webhook, staged }),
      ),

    async endReplay(inboxId, outcome) {
      await transaction((tx) =>
        tx
          .updateTable('inboxes')
          .set((row) => ({
            replay_until: outcome === 'cut' ? 0 : null,
            version: row('version', '+', 1),
          }))
          .where('id', '=', inboxId)
          .where('replay_until', 'is not', null)
          .execute(),
      );
    },

    setExpiry: (accountId, inboxId, { ttlMinutes, expiresAt }, now) =>
      transaction(async (tx) => {
        const found = tx
          .selectFrom('inboxes')
          .select(['seq', 'address', 'max_expires_at'])
          .where('id', '=', inboxId)
          .where('account_id', '=', accountId)
          .where('expires_at', '>', now)
          .where('freed', '=', 0);
        const live = await dialect.lockRows(found).executeTakeFirst();
        if (!live) return undefined;
        const end = { inboxId, expiresAt: Math.min(expiresAt, live.max_expires_at) };
        // It may have ended after `now`, and a new inbox may have its address since.
        if (!(await moveAddressEnd(tx, { ...end, address: live.address }))) return undefined;
        await moveWebhookEnds(kitOn(tx), accountId, [inboxId], end.expiresAt);
        const row = await tx
          .updateTable('inboxes')
          .set((row) => ({
            ttl_minutes: ttlMinutes,
            expires_at: end.expiresAt,
            // An extension that began before this one ended the inbox must not bring it back.
            ...(expiresAt <= now && { max_expires_at: expiresAt }),
            version: row('version', '+', 1),
          }))
          .where('seq', '=', live.seq)
          .returning(INBOX_COLUMNS)
          .executeTakeFirstOrThrow();
        return toInbox(row, now);
      }),
  };
}
