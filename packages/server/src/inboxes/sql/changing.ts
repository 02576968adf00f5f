import type { InboxWebhook } from '@mayfly/client/contract';
import { requireAccount } from '../../accounts/sql.ts';
import { eachOf, FOR_UPDATE, sql, type Tx, write } from '../../database/sql.ts';
import { AppError } from '../../errors.ts';
import { placeStaged } from '../../messages/sql/imports.ts';
import { insertWebhook, moveWebhookEnds, type NewWebhook } from '../../webhooks/sql/webhooks.ts';
import {
  IDEMPOTENCY_MS,
  type IdempotentRequest,
  type InboxRecord,
  type NewInbox,
  PERMANENT_UNTIL,
  type StagedMails,
} from '../records.ts';
import { claimAddress, moveAddressEnd } from './addresses.ts';
import { INBOX, type InboxRow, pairOf, toInbox } from './finding.ts';

type WantedWebhook = Omit<NewWebhook, 'inboxId' | 'createdAt'> & { maxWebhooks: number };

async function findReplay(tx: Tx, accountId: string, { keyHash, bodyHash }: IdempotentRequest, now: number) {
  const earlier = await tx.first<{ bodyHash: string; nonce: string; inbox: string; webhook: string | null }>(
    sql`select body_hash as "bodyHash", nonce, inbox, webhook from idempotency
      where key_id = ${accountId} and key_hash = ${keyHash} and expires_at > ${now}`,
  );
  if (!earlier) return undefined;
  if (earlier.bodyHash !== bodyHash) {
    throw new AppError(
      'idempotency_key_reused',
      'This Idempotency-Key was used with another body within the last 24 hours. Use a new key for a new request.',
    );
  }
  return {
    inbox: JSON.parse(earlier.inbox),
    nonce: earlier.nonce,
    webhook: earlier.webhook === null ? null : JSON.parse(earlier.webhook),
  };
}

async function storeResponse(
  tx: Tx,
  { keyHash, bodyHash, nonce }: IdempotentRequest,
  inbox: InboxRecord,
  webhook: InboxWebhook | null,
): Promise<void> {
  const texts = [JSON.stringify(inbox), webhook && JSON.stringify(webhook)] as const;
  // If a row has this key, it has expired and is replaced. A repeated request gets the stored response again.
  await tx.run(
    sql`insert into idempotency (key_id, key_hash, body_hash, nonce, inbox, webhook, expires_at)
      values (${inbox.accountId}, ${keyHash}, ${bodyHash}, ${nonce}, ${texts[0]}, ${texts[1]},
        ${inbox.createdAt + IDEMPOTENCY_MS})
      on conflict (key_id, key_hash) do update set body_hash = excluded.body_hash, nonce = excluded.nonce,
        inbox = excluded.inbox, webhook = excluded.webhook, expires_at = excluded.expires_at`,
  );
}

async function checkLiveInboxes(tx: Tx, accountId: string, max: number, now: number): Promise<void> {
  if (max === Number.POSITIVE_INFINITY) return;
  const row = await tx.first<{ count: number }>(
    sql`select count(*) as count from (select seq from inboxes where account_id = ${accountId}
      and expires_at > ${now} and expires_at < ${PERMANENT_UNTIL} limit ${max}) as live`,
  );
  if ((row?.count ?? 0) < max) return;
  throw new AppError(
    'limit_reached',
    `The account has reached the number of live inboxes that its plan allows (${max}). Delete one with DELETE /v1/inboxes/{id}, or wait until one expires.`,
  );
}

async function insertInbox(tx: Tx, accountId: string, { tokenHash, replayUntil, ...inbox }: NewInbox) {
  const { id, kind, address, labels, ttlMinutes, createdAt, expiresAt, maxExpiresAt } = inbox;
  const row = await tx.first<{ seq: number }>(
    sql`insert into inboxes (id, account_id, address, labels, token_hash, ttl_minutes, created_at, expires_at,
        max_expires_at, message_count, last_received_at, version, freed, kind, replay_until)
      values (${id}, ${accountId}, ${address}, ${JSON.stringify(labels)}, ${tokenHash}, ${ttlMinutes}, ${createdAt},
        ${expiresAt}, ${maxExpiresAt}, 0, 0, 1, 0, ${kind}, ${replayUntil ?? null})
      returning seq`,
  );
  if (!row) throw new Error('The insert of an inbox returned no row.');
  const pairs = Object.entries(labels).map(([name, value]) => ({ pair: pairOf(name, value) }));
  if (pairs.length > 0)
    await tx.run(
      sql`insert into inbox_labels (account_id, pair, inbox_id, inbox_seq)
        select i.account_id, r.value ->> 'pair', i.id, i.seq from inboxes i, ${eachOf(pairs)} as r
        where i.seq = ${row.seq}`,
    );
  const counts = { messageCount: 0, receivedCount: 0, lastReceivedAt: 0, version: 1 };
  const replay = replayUntil === undefined ? 'none' : 'running';
  const record: InboxRecord = { ...inbox, accountId, replay, ...counts };
  return { inbox: record, seq: row.seq };
}

export const changing = {
  /** @throws AppError `address_taken`, `limit_reached` (inboxes or webhooks), `idempotency_key_reused` */
  create: write(
    async (
      tx,
      accountId: string,
      inbox: NewInbox,
      maxLiveInboxes: number,
      request: IdempotentRequest | null,
      wanted?: WantedWebhook | null,
      staged?: StagedMails | null,
    ) => {
      const { id: inboxId, address, createdAt, expiresAt } = inbox;
      const now = staged?.now ?? createdAt;
      await requireAccount(tx, accountId);
      const replay = request && (await findReplay(tx, accountId, request, now));
      if (replay) return replay;
      await checkLiveInboxes(tx, accountId, maxLiveInboxes, now);
      await claimAddress(tx, { accountId, address, inboxId, expiresAt }, inbox.kind, now);
      const inserted = await insertInbox(tx, accountId, inbox);
      let webhook: InboxWebhook | null = null;
      if (wanted) {
        const { maxWebhooks, ...rest } = wanted;
        await insertWebhook(tx, accountId, { ...rest, inboxId, createdAt, endsAt: expiresAt }, maxWebhooks);
        webhook = { id: rest.id, url: rest.url, secret: rest.secret };
      }
      const record = staged ? await placeStaged(tx, inserted, staged) : inserted.inbox;
      if (request) await storeResponse(tx, request, record, webhook);
      return { inbox: record, nonce: request?.nonce ?? null, webhook };
    },
  ),

  /** Sets a live inbox's expiry, at most `maxExpiresAt`. @returns undefined for an ended inbox */
  setExpiry: write(
    { mayUseReserve: true },
    async (
      tx,
      accountId: string,
      inboxId: string,
      { ttlMinutes, expiresAt }: { ttlMinutes: number; expiresAt: number },
      now: number,
    ) => {
      const live = await tx.first<{ seq: number; address: string; maxExpiresAt: number }>(
        sql`select seq, address, max_expires_at as "maxExpiresAt" from inboxes
          where id = ${inboxId} and account_id = ${accountId} and expires_at > ${now} and freed = 0 ${FOR_UPDATE}`,
      );
      if (!live) return undefined;
      const { seq, address, maxExpiresAt } = live;
      const end = Math.min(expiresAt, maxExpiresAt);
      // Since `now` was read, the inbox may have ended, and a new inbox may have got its address.
      if (!(await moveAddressEnd(tx, { inboxId, address, expiresAt: end }))) return undefined;
      await moveWebhookEnds(tx, accountId, [inboxId], end);
      // No later call may extend an inbox that this call ends, not even a call with an earlier `now`.
      const maximum = expiresAt <= now ? expiresAt : maxExpiresAt;
      const row = await tx.first<InboxRow>(
        sql`update inboxes set ttl_minutes = ${ttlMinutes}, expires_at = ${end}, max_expires_at = ${maximum},
          version = version + 1 where seq = ${seq} returning ${INBOX}`,
      );
      tx.hint({ kind: 'inbox', inboxId });
      return row && toInbox(row, now);
    },
  ),

  /** Stores how a replay ended. Without this, the sweeper stores `cut` a minute after the planned end. */
  endReplay: write({ mayUseReserve: true }, async (tx, inboxId: string, outcome: 'complete' | 'cut') => {
    await tx.run(
      sql`update inboxes set replay_until = ${outcome === 'cut' ? 0 : null}, version = version + 1
          where id = ${inboxId} and replay_until is not null`,
    );
  }),
};
