import type { Selectable } from 'kysely';
import { AppError, notFound } from '../../../errors.ts';
import { TOMBSTONE_MS } from '../../../inboxes/records.ts';
import type { NewWebhook, WebhookChanges, WebhookRecord, WebhookStore } from '../../contract/webhooks.ts';
import { lockAccount } from '../accounts/lock-account.ts';
import { freeInSteps, freeNowOrLater } from '../delete-in-steps.ts';
import type { Dialect, Engine, Tx } from '../engine.ts';
import { DELETED, NEVER } from '../tables/index.ts';
import type { WebhooksTable } from '../tables/webhooks.ts';
import { removeNextWebhook } from './queue.ts';

const COLUMNS = [
  'id',
  'account_id',
  'inbox_id',
  'url',
  'description',
  'enabled',
  'disabled_reason',
  'created_at',
  'ends_at',
  'failing_since',
] as const satisfies (keyof WebhooksTable)[];

/** A rotation a day leaves two secrets; with more rotations within a day, this many sign. */
const MAX_SECRETS = 10;

/** A stored secret, newest first; the first has no end. */
interface StoredSecret {
  secret: string;
  until: number | null;
}

function toWebhook(row: Pick<Selectable<WebhooksTable>, (typeof COLUMNS)[number]>): WebhookRecord {
  return {
    id: row.id,
    accountId: row.account_id,
    inboxId: row.inbox_id,
    url: row.url,
    description: JSON.parse(row.description),
    enabled: row.enabled === 1,
    disabledReason: row.disabled_reason,
    createdAt: row.created_at,
    endsAt: row.ends_at === NEVER ? null : row.ends_at,
    failingSince: row.failing_since,
  };
}

/** The secrets of a row that sign at a time, newest first. */
export function signingSecrets(secrets: string, now: number): string[] {
  const stored: StoredSecret[] = JSON.parse(secrets);
  return stored.filter(({ until }) => until === null || until > now).map(({ secret }) => secret);
}

/** @throws AppError `limit_reached`; the caller has locked the account */
async function checkLimit(tx: Tx, accountId: string, max: number, now: number): Promise<void> {
  if (max === Number.POSITIVE_INFINITY) return;
  const live = await tx
    .selectFrom('webhooks')
    .select('id')
    .where('account_id', '=', accountId)
    .where('ends_at', '>', now)
    .limit(max)
    .execute();
  if (live.length < max) return;
  throw new AppError(
    'limit_reached',
    `The account has reached the number of webhooks that its plan allows (${max}), those of single inboxes included. Delete one with DELETE /v1/webhooks/{id}.`,
  );
}

/**
 * Adds a webhook in a transaction that has locked its account and checked its inbox.
 * @param endsAt the inbox's end; NEVER for the whole account
 * @throws AppError `limit_reached`
 */
export async function insertWebhook(
  tx: Tx,
  accountId: string,
  webhook: NewWebhook & { endsAt: number },
  maxWebhooks: number,
): Promise<WebhookRecord> {
  await checkLimit(tx, accountId, maxWebhooks, webhook.createdAt);
  const secrets: StoredSecret[] = [{ secret: webhook.secret, until: null }];
  const row = await tx
    .insertInto('webhooks')
    .values({
      id: webhook.id,
      account_id: accountId,
      inbox_id: webhook.inboxId,
      url: webhook.url,
      description: JSON.stringify(webhook.description),
      secrets: JSON.stringify(secrets),
      enabled: 1,
      created_at: webhook.createdAt,
      ends_at: webhook.endsAt,
      prompt: 0,
      failed_attempts: 0,
      kept: 0,
    })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
  return toWebhook(row);
}

/** Moves the end of the webhooks of inboxes to the end of these. A webhook that is being deleted stays so. */
export async function moveWebhookEnds(
  tx: Tx,
  accountId: string,
  inboxIds: readonly string[],
  expiresAt: number,
): Promise<void> {
  await tx
    .updateTable('webhooks')
    .set({ ends_at: expiresAt })
    .where('account_id', '=', accountId)
    .where('inbox_id', 'in', inboxIds)
    .where('ends_at', '>', DELETED)
    .execute();
}

/** Marks a live inbox as having a webhook; returns its expiry. */
async function claimInbox(tx: Tx, accountId: string, inboxId: string, now: number): Promise<number> {
  const inbox = await tx
    .updateTable('inboxes')
    .set({ has_webhook: 1 })
    .where('id', '=', inboxId)
    .where('account_id', '=', accountId)
    .where('expires_at', '>', now)
    .where('freed', '=', 0)
    .returning('expires_at')
    .executeTakeFirst();
  if (!inbox) throw notFound('inbox', inboxId);
  return inbox.expires_at;
}

function toRow({ url, description, enabled }: WebhookChanges) {
  return {
    ...(url === undefined ? {} : { url }),
    ...(description === undefined ? {} : { description: JSON.stringify(description) }),
    ...(enabled === undefined ? {} : { enabled: enabled ? 1 : 0, disabled_reason: null }),
    ...(enabled === true && { failing_since: null, failed_attempts: 0, blocked_until: 0 }),
    // Time 0: the next claim finds it disabled and cancels what is pending.
    ...(enabled === false && { next_at: 0 }),
  };
}

/** Removes about `limit` rows of a deleted webhook. */
function removeDeleted(tx: Tx, { lockToRemove }: Dialect, webhookId: string, limit: number): Promise<number> {
  const deleted = tx
    .selectFrom('webhooks')
    .select('id')
    .where('id', '=', webhookId)
    .where('ends_at', '=', DELETED);
  return removeNextWebhook(tx, limit, deleted, lockToRemove);
}

/** An update of a live webhook of the account. */
const updateLive = (tx: Tx, accountId: string, webhookId: string, now: number) =>
  tx
    .updateTable('webhooks')
    .where('id', '=', webhookId)
    .where('account_id', '=', accountId)
    .where('ends_at', '>', now);

/** The secrets of a webhook after a rotation, newest first. */
function rotated(stored: string, secret: string, oldUntil: number, now: number): StoredSecret[] {
  const old: StoredSecret[] = JSON.parse(stored);
  return [
    { secret, until: null },
    ...old
      .map((one) => ({ ...one, until: one.until ?? oldUntil }))
      .filter(({ until }) => until > now)
      .slice(0, MAX_SECRETS - 1),
  ];
}

function createReads({ db }: Engine): Pick<WebhookStore, 'find' | 'list'> {
  return {
    async find(accountId, webhookId, now) {
      const row = await db
        .selectFrom('webhooks')
        .select(COLUMNS)
        .where('id', '=', webhookId)
        .where('account_id', '=', accountId)
        .where('ends_at', '>', now - TOMBSTONE_MS)
        .executeTakeFirst();
      return row && toWebhook(row);
    },

    async list(accountId, { limit, before }, now) {
      let query = db
        .selectFrom('webhooks')
        .select(COLUMNS)
        .where('account_id', '=', accountId)
        .where('ends_at', '>', now - TOMBSTONE_MS)
        .orderBy('id', 'desc')
        .limit(limit + 1);
      if (before !== null) query = query.where('id', '<', before);
      const rows = await query.execute();
      return { webhooks: rows.slice(0, limit).map(toWebhook), hasMore: rows.length > limit };
    },
  };
}

function createChanges({ dialect, transaction }: Engine): Pick<WebhookStore, 'update' | 'rotateSecret'> {
  return {
    async update(accountId, webhookId, changes, now) {
      const row = await transaction((tx) =>
        updateLive(tx, accountId, webhookId, now)
          // An update needs a column to set, also if there is nothing to change.
          .set({ ...toRow(changes), account_id: accountId })
          .returning(COLUMNS)
          .executeTakeFirst(),
      );
      return row && toWebhook(row);
    },

    rotateSecret: (accountId, webhookId, secret, oldUntil, now) =>
      transaction(async (tx) => {
        const mine = tx
          .selectFrom('webhooks')
          .select('secrets')
          .where('id', '=', webhookId)
          .where('account_id', '=', accountId)
          .where('ends_at', '>', now);
        const found = await dialect.lockRows(mine).executeTakeFirst();
        if (!found) return undefined;
        const secrets = rotated(found.secrets, secret, oldUntil, now);
        const row = await updateLive(tx, accountId, webhookId, now)
          .set({ secrets: JSON.stringify(secrets) })
          .returning(COLUMNS)
          .executeTakeFirstOrThrow();
        return toWebhook(row);
      }),
  };
}

export function createWebhooks(engine: Engine): WebhookStore {
  const { dialect, transaction } = engine;
  return {
    ...createReads(engine),
    ...createChanges(engine),

    create: (accountId, webhook, maxWebhooks) =>
      transaction(async (tx) => {
        await lockAccount(tx, dialect, accountId);
        const { inboxId, createdAt } = webhook;
        const endsAt = inboxId === null ? NEVER : await claimInbox(tx, accountId, inboxId, createdAt);
        return insertWebhook(tx, accountId, { ...webhook, endsAt }, maxWebhooks);
      }),

    async delete(accountId, webhookId, now) {
      const ended = await transaction((tx) =>
        tx
          .updateTable('webhooks')
          .set({ ends_at: DELETED, enabled: 0, next_at: null })
          .where('id', '=', webhookId)
          .where('account_id', '=', accountId)
          .where('ends_at', '>', now - TOMBSTONE_MS)
          .returning('id')
          .executeTakeFirst(),
      );
      if (!ended) return false;
      await freeNowOrLater(() =>
        freeInSteps(engine, (tx, limit) => removeDeleted(tx, dialect, webhookId, limit)),
      );
      return true;
    },

    async disable(webhookId, reason) {
      await transaction((tx) =>
        tx
          .updateTable('webhooks')
          // Time 0: the next claim reads it first and cancels what is pending.
          .set({ enabled: 0, disabled_reason: reason, next_at: 0 })
          .where('id', '=', webhookId)
          .where('enabled', '=', 1)
          .execute(),
      );
    },
  };
}
