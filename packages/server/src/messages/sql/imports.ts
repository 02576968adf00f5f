import { HOUR_MS } from '../../clock.ts';
import { unavailable } from '../../database/failures.ts';
import { KEEP, sql, type Tx, write } from '../../database/sql.ts';
import { AppError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import type { InboxRecord, StagedMails } from '../../inboxes/records.ts';
import { addSources, insertRows, type NewSource } from '../../reading/sql.ts';
import { addDeliveries, deliveriesOf, MESSAGES, takePlaces } from './adding.ts';

/** The sources of an unfinished import are deleted after this time, which is longer than any import takes. */
export const STAGED_MS = HOUR_MS;

// An import first stores the sources of its mails under a common name, the stage. They have no messages, so
// no client can read them. The transaction that creates the inbox adds the messages and removes the stage.

/** Limit of deliveries per transaction. Adding this many takes 0.3 s, during which other writes wait. */
const MAX_DELIVERIES = 10_000;

export const giveUpStagedBefore = (tx: Tx, time: number): Promise<number> =>
  tx.run(sql`update parked_sources set stage = null where stage < ${newId('msg', time)}`);

export const imports = {
  /** Stores an imported mail. @param stage names the import: one `newId('msg', now)` for all its mails */
  stage: write({ keepsInboxes: true }, async (tx, mail: NewSource, accountId: string, stage: string) => {
    const [{ source } = { source: 0 }] = await addSources(tx, [mail]);
    await tx.run(
      sql`insert into unread (source_seq, account_id, checks) values (${source}, ${accountId}, 0)`,
    );
    await tx.run(sql`insert into parked_sources (source_seq, stage) values (${source}, ${stage})`);
    return source;
  }),

  unstage: write({ keepsInboxes: true, mayUseReserve: true }, async (tx, stage: string) => {
    await tx.run(sql`update parked_sources set stage = null where stage = ${stage}`);
  }),
};

/** @throws AppError `unavailable` unless exactly the sources of `mails` are stored under `stage` */
async function takeOver(tx: Tx, { stage, mails }: StagedMails): Promise<void> {
  const taken = await tx.all<{ source: number }>(
    sql`delete from parked_sources where stage = ${stage} returning source_seq as source`,
  );
  const there = new Set(taken.map(({ source }) => source));
  if (there.size === mails.length && mails.every(({ source }) => there.has(source))) return;
  throw unavailable('too slow for this import, whose messages were deleted after an hour');
}

async function addDeliveriesOf(
  tx: Tx,
  { id: inboxId, accountId }: InboxRecord,
  messageIds: readonly string[],
  now: number,
): Promise<void> {
  const webhooks = await tx.all<{ id: string }>(
    sql`select id from webhooks where account_id = ${accountId} and enabled = 1 and ends_at > ${now}
      and (inbox_id is null or inbox_id = ${inboxId}) order by id ${KEEP}`,
  );
  if (webhooks.length * messageIds.length > MAX_DELIVERIES) {
    throw new AppError(
      'limit_reached',
      `The ${messageIds.length} messages of this recording would be sent to ${webhooks.length} webhooks. An import may cause ${MAX_DELIVERIES} deliveries: disable some webhooks, or import fewer messages, or import with "speed".`,
    );
  }
  const deliveries = messageIds.flatMap((messageId) => deliveriesOf({ inboxId, messageId }, webhooks, now));
  await addDeliveries(tx, deliveries, now, now);
  const wakes = messageIds.length > 0 ? webhooks.map(({ id }) => [id]) : [];
  await insertRows(tx, 'wakes (webhook_id)', wakes);
}

/** Adds mails to a new inbox, received 1 ms apart: the first after `createdAt`, the last not before `now`. */
export async function placeStaged(
  tx: Tx,
  { inbox, seq }: { inbox: InboxRecord; seq: number },
  staged: StagedMails,
): Promise<InboxRecord> {
  const { mails, now } = staged;
  await takeOver(tx, staged);
  if (mails.length === 0) return inbox;
  const [place] = await takePlaces(tx, new Map([[inbox.accountId, mails.length]]));
  if (!place) throw new Error('An inbox has no account.');
  const { account, last } = place;
  const first = Math.max(inbox.createdAt, now - mails.length) + 1;
  const ids = mails.map((_, n) => newId('msg', first + n));
  const rows = mails.map(({ source, rcptTo }, n) => {
    const addresses = JSON.stringify(rcptTo.length === 0 ? [inbox.address] : rcptTo);
    return [seq, first + n, ids[n] ?? '', source, addresses, account, last - mails.length + 1 + n];
  });
  await insertRows(tx, MESSAGES, rows);
  await addDeliveriesOf(tx, inbox, ids, now);
  const lastReceivedAt = first + mails.length - 1;
  await tx.run(
    sql`update inboxes set message_count = ${mails.length}, last_received_at = ${lastReceivedAt},
        received_messages = ${mails.length}, first_received_at = ${first} where seq = ${seq}`,
  );
  tx.hint({ kind: 'message', accountId: inbox.accountId, inboxId: inbox.id });
  tx.hint({ kind: 'deliveries' });
  return { ...inbox, messageCount: mails.length, receivedCount: mails.length, lastReceivedAt };
}
