import type { UpdateWebhook, Webhook } from '@mayfly/client/contract';
import { requireAccount } from '../../accounts/sql.ts';
import { DELETED, NEVER } from '../../database/schema.ts';
import {
  anyOf,
  constant,
  EMPTY,
  FOR_UPDATE,
  type Page,
  read,
  sql,
  type Tx,
  write,
} from '../../database/sql.ts';
import { AppError, notFound } from '../../errors.ts';
import { TOMBSTONE_MS } from '../../inboxes/records.ts';

/** A webhook and its log stay readable for 24 hours after its inbox was deleted or has expired. */
export interface WebhookRecord extends Omit<Webhook, 'createdAt' | 'failingSince'> {
  accountId: string;
  createdAt: number;
  failingSince: number | null;
  /** When its inbox expires; null for a webhook of the whole account. */
  endsAt: number | null;
}

export interface NewWebhook
  extends Pick<WebhookRecord, 'id' | 'inboxId' | 'url' | 'description' | 'createdAt'> {
  /** Stored in plain text, because payloads are signed with it. */
  secret: string;
}

const COLUMNS = constant(`id, account_id as "accountId", inbox_id as "inboxId", url, description, enabled,
  disabled_reason as "disabledReason", created_at as "createdAt", ends_at as "endsAt", failing_since as "failingSince"`);

type WebhookRow = Omit<WebhookRecord, 'enabled' | 'endsAt'> & { enabled: number; endsAt: number };

const toWebhook = (row: WebhookRow): WebhookRecord => ({
  ...row,
  description: JSON.parse(row.description),
  enabled: row.enabled === 1,
  endsAt: row.endsAt === NEVER ? null : row.endsAt,
});

const ofAccount = (accountId: string, webhookId: string, at: number) =>
  sql`id = ${webhookId} and account_id = ${accountId} and ends_at > ${at}`;

const MAX_SECRETS = 10;

interface StoredSecret {
  secret: string;
  /** When the secret expires; null for the newest one. */
  until: number | null;
}

export function signingSecrets(secrets: string, now: number): string[] {
  const stored: StoredSecret[] = JSON.parse(secrets);
  return stored.filter(({ until }) => until === null || until > now).map(({ secret }) => secret);
}

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

/** The account must be locked. `endsAt` is NEVER for a webhook of the account. @throws AppError `limit_reached` */
export async function insertWebhook(
  tx: Tx,
  accountId: string,
  webhook: NewWebhook & { endsAt: number },
  maxWebhooks: number,
): Promise<WebhookRecord> {
  const { id, inboxId, url, createdAt, endsAt } = webhook;
  if (maxWebhooks !== Number.POSITIVE_INFINITY) {
    const live = await tx.all(
      sql`select id from webhooks where account_id = ${accountId} and ends_at > ${createdAt} limit ${maxWebhooks}`,
    );
    if (live.length >= maxWebhooks)
      throw new AppError(
        'limit_reached',
        `The account has reached the number of webhooks that its plan allows (${maxWebhooks}), those of single inboxes included. Delete one with DELETE /v1/webhooks/{id}.`,
      );
  }
  const description = JSON.stringify(webhook.description);
  const secrets: StoredSecret[] = [{ secret: webhook.secret, until: null }];
  await tx.run(
    sql`insert into webhooks (id, account_id, inbox_id, url, description, secrets, enabled, created_at, ends_at,
        prompt, failed_attempts)
      values (${id}, ${accountId}, ${inboxId}, ${url}, ${description}, ${JSON.stringify(secrets)}, 1, ${createdAt},
        ${endsAt}, 0, 0)`,
  );
  const state = { enabled: 1, disabledReason: null, failingSince: null };
  return toWebhook({ id, accountId, inboxId, url, description, createdAt, endsAt, ...state });
}

/** Sets `ends_at` of the inboxes' webhooks to the new expiry. Skips webhooks that are being deleted. */
export async function moveWebhookEnds(
  tx: Tx,
  accountId: string,
  inboxIds: readonly string[],
  expiresAt: number,
): Promise<void> {
  await tx.run(
    sql`update webhooks set ends_at = ${expiresAt}
      where account_id = ${accountId} and inbox_id ${anyOf(inboxIds)} and ends_at > ${DELETED}`,
  );
}

export const webhooks = {
  /** @throws AppError `limit_reached`; `not_found` if the account has no such live inbox */
  create: write(async (tx, accountId: string, webhook: NewWebhook, maxWebhooks: number) => {
    await requireAccount(tx, accountId);
    const { inboxId, createdAt } = webhook;
    if (inboxId === null) return insertWebhook(tx, accountId, { ...webhook, endsAt: NEVER }, maxWebhooks);
    const inbox = await tx.first<{ expiresAt: number }>(
      sql`select expires_at as "expiresAt" from inboxes
        where id = ${inboxId} and account_id = ${accountId} and expires_at > ${createdAt} and freed = 0 ${FOR_UPDATE}`,
    );
    if (!inbox) throw notFound('inbox', inboxId);
    return insertWebhook(tx, accountId, { ...webhook, endsAt: inbox.expiresAt }, maxWebhooks);
  }),

  find: read(async (db, accountId: string, webhookId: string, now: number) => {
    const row = await db.first<WebhookRow>(
      sql`select ${COLUMNS} from webhooks where ${ofAccount(accountId, webhookId, now - TOMBSTONE_MS)}`,
    );
    return row && toWebhook(row);
  }),

  list: read(async (db, accountId: string, { limit, before }: Page, now: number) => {
    const rows = await db.all<WebhookRow>(
      sql`select ${COLUMNS} from webhooks
          where account_id = ${accountId} and ends_at > ${now - TOMBSTONE_MS}
            ${before === null ? EMPTY : sql`and id < ${before}`}
          order by id desc limit ${limit + 1}`,
    );
    return { webhooks: rows.slice(0, limit).map(toWebhook), hasMore: rows.length > limit };
  }),

  /** Enabling resets the failure count; disabling cancels deliveries. @returns undefined if the webhook has ended */
  update: write(
    { mayUseReserve: true },
    async (tx, accountId: string, webhookId: string, changes: UpdateWebhook, now: number) => {
      const { url, description, enabled } = changes;
      const note = description === undefined ? null : JSON.stringify(description);
      const on = sql`, enabled = 1, disabled_reason = null, failing_since = null, failed_attempts = 0, blocked_until = 0`;
      // `next_at` 0 makes the webhook due, so that the next claim cancels its pending deliveries.
      const off = sql`, enabled = 0, disabled_reason = null, next_at = 0`;
      const row = await tx.first<WebhookRow>(
        sql`update webhooks set url = coalesce(${url ?? null}, url), description = coalesce(${note}, description)
            ${enabled === undefined ? EMPTY : enabled ? on : off}
          where ${ofAccount(accountId, webhookId, now)} returning ${COLUMNS}`,
      );
      return row && toWebhook(row);
    },
  ),

  /** The previous secret also signs requests until `oldUntil`. @returns undefined if the webhook has ended */
  rotateSecret: write(
    async (tx, accountId: string, webhookId: string, secret: string, oldUntil: number, now: number) => {
      const live = ofAccount(accountId, webhookId, now);
      const found = await tx.first<{ secrets: string }>(
        sql`select secrets from webhooks where ${live} ${FOR_UPDATE}`,
      );
      if (!found) return undefined;
      const secrets = JSON.stringify(rotated(found.secrets, secret, oldUntil, now));
      const row = await tx.first<WebhookRow>(
        sql`update webhooks set secrets = ${secrets} where ${live} returning ${COLUMNS}`,
      );
      return row && toWebhook(row);
    },
  ),

  /** Marks a webhook as deleted; the sweeper deletes its rows. @returns false if there is no such webhook */
  delete: write(
    { mayUseReserve: true },
    async (tx, accountId: string, webhookId: string, now: number) =>
      (await tx.run(
        sql`update webhooks set ends_at = ${DELETED}, enabled = 0, next_at = null
          where ${ofAccount(accountId, webhookId, now - TOMBSTONE_MS)}`,
      )) > 0,
  ),

  disable: write({ mayUseReserve: true }, (tx, webhookId: string, reason: string) =>
    tx.run(
      sql`update webhooks set enabled = 0, disabled_reason = ${reason}, next_at = 0
          where id = ${webhookId} and enabled = 1`,
    ),
  ),
};
