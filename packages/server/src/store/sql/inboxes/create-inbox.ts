import { AppError } from '../../../errors.ts';
import { placeStaged } from '../../../messages/sql/imports.ts';
import type {
  CreatedInbox,
  IdempotentRequest,
  InboxRecord,
  InboxStore,
  InboxWebhook,
  NewInbox,
  StagedMails,
} from '../../contract/index.ts';
import { IDEMPOTENCY_MS, PERMANENT_UNTIL } from '../../contract/retention.ts';
import { lockAccount } from '../accounts/lock-account.ts';
import type { Dialect, Tx } from '../engine.ts';
import { kitOn } from '../kit-on.ts';
import { insertWebhook } from '../webhooks/webhooks.ts';
import { claimAddress } from './addresses.ts';

/** The arguments of `InboxStore.create`. */
interface Creation {
  accountId: string;
  inbox: NewInbox;
  maxLiveInboxes: number;
  request: IdempotentRequest | null;
  webhook: Parameters<InboxStore['create']>[4];
  staged: StagedMails | null;
}

/** A label as `inbox_labels` stores it. */
export function pairOf(name: string, value: string): string {
  return JSON.stringify([name, value]);
}

/** The response to an earlier request with the same idempotency key. */
async function findReplay(
  tx: Tx,
  accountId: string,
  request: IdempotentRequest,
  now: number,
): Promise<CreatedInbox | undefined> {
  const earlier = await tx
    .selectFrom('idempotency')
    .select(['body_hash', 'nonce', 'inbox', 'webhook'])
    .where('key_id', '=', accountId)
    .where('key_hash', '=', request.keyHash)
    .where('expires_at', '>', now)
    .executeTakeFirst();
  if (!earlier) return undefined;
  if (earlier.body_hash !== request.bodyHash) {
    throw new AppError(
      'idempotency_key_reused',
      'This Idempotency-Key was used with another body within the last 24 hours. Use a new key for a new request.',
    );
  }
  return {
    // Inboxes stored by earlier versions have neither.
    inbox: { kind: 'address', replay: 'none', ...JSON.parse(earlier.inbox) },
    nonce: earlier.nonce,
    webhook: earlier.webhook === null ? null : JSON.parse(earlier.webhook),
    replayed: true,
  };
}

async function storeResponse(
  tx: Tx,
  request: IdempotentRequest,
  inbox: InboxRecord,
  webhook: InboxWebhook | null,
): Promise<void> {
  const response = {
    body_hash: request.bodyHash,
    nonce: request.nonce,
    inbox: JSON.stringify(inbox),
    // With its secret, which the webhook's own row has as well: a repeated request gets the same response.
    webhook: webhook && JSON.stringify(webhook),
    expires_at: inbox.createdAt + IDEMPOTENCY_MS,
  };
  await tx
    .insertInto('idempotency')
    .values({ key_id: inbox.accountId, key_hash: request.keyHash, ...response })
    // An existing row is too old to be replayed.
    .onConflict((conflict) => conflict.columns(['key_id', 'key_hash']).doUpdateSet(response))
    .execute();
}

async function checkLiveInboxes(tx: Tx, accountId: string, max: number, now: number): Promise<void> {
  if (max === Number.POSITIVE_INFINITY) return;
  const live = tx
    .selectFrom('inboxes')
    .select('seq')
    .where('account_id', '=', accountId)
    .where('expires_at', '>', now)
    // The sink does not count.
    .where('expires_at', '<', PERMANENT_UNTIL)
    .limit(max)
    .as('live');
  const { count } = await tx
    .selectFrom(live)
    .select((row) => row.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  if (count >= max) {
    throw new AppError(
      'limit_reached',
      `The account has reached the number of live inboxes that its plan allows (${max}). Delete one with DELETE /v1/inboxes/{id}, or wait until one expires.`,
    );
  }
}

async function insertInbox(
  tx: Tx,
  { accountId, inbox, webhook }: Creation,
): Promise<{ inbox: InboxRecord; seq: number }> {
  const { tokenHash, replayUntil = null, ...rest } = inbox;
  const counts = { messageCount: 0, receivedCount: 0, lastReceivedAt: 0, version: 1 };
  const replay = replayUntil === null ? 'none' : 'running';
  const record: InboxRecord = { ...rest, accountId, replay, ...counts };
  const { seq } = await tx
    .insertInto('inboxes')
    .values({
      id: inbox.id,
      account_id: accountId,
      address: inbox.address,
      labels: JSON.stringify(inbox.labels),
      token_hash: tokenHash,
      ttl_minutes: inbox.ttlMinutes,
      created_at: inbox.createdAt,
      expires_at: inbox.expiresAt,
      max_expires_at: inbox.maxExpiresAt,
      message_count: record.messageCount,
      last_received_at: record.lastReceivedAt,
      version: record.version,
      freed: 0,
      kind: inbox.kind,
      has_webhook: webhook ? 1 : 0,
      replay_until: replayUntil,
    })
    .returning('seq')
    .executeTakeFirstOrThrow();
  const pairs = Object.entries(inbox.labels).map(([name, value]) => ({
    account_id: accountId,
    pair: pairOf(name, value),
    inbox_id: inbox.id,
    inbox_seq: seq,
  }));
  if (pairs.length > 0) await tx.insertInto('inbox_labels').values(pairs).execute();
  return { inbox: record, seq };
}

/** Adds the webhook that was requested together with the inbox. */
async function addWebhook(tx: Tx, { accountId, inbox, webhook }: Creation): Promise<InboxWebhook | null> {
  if (!webhook) return null;
  const { maxWebhooks, ...rest } = webhook;
  const { id: inboxId, createdAt, expiresAt: endsAt } = inbox;
  await insertWebhook(tx, accountId, { ...rest, inboxId, createdAt, endsAt }, maxWebhooks);
  return { id: rest.id, url: rest.url, secret: rest.secret };
}

/** `InboxStore.create` in its transaction. */
export async function createInbox(tx: Tx, dialect: Dialect, creation: Creation): Promise<CreatedInbox> {
  const { accountId, inbox, maxLiveInboxes, request, staged } = creation;
  const now = staged?.now ?? inbox.createdAt;
  await lockAccount(tx, dialect, accountId);
  const replay = request && (await findReplay(tx, accountId, request, now));
  if (replay) return replay;
  await checkLiveInboxes(tx, accountId, maxLiveInboxes, now);
  const tenancy = { accountId, address: inbox.address, inboxId: inbox.id, expiresAt: inbox.expiresAt };
  await claimAddress(tx, tenancy, inbox.kind, now);
  const inserted = await insertInbox(tx, creation);
  const webhook = await addWebhook(tx, creation);
  const record = staged ? await placeStaged(kitOn(tx), inserted, staged) : inserted.inbox;
  if (request) await storeResponse(tx, request, record, webhook);
  return { inbox: record, nonce: request?.nonce ?? null, webhook, replayed: false };
}
