import { firstIdAt } from '../../../ids.ts';
import type { DeliveryStore } from '../../contract/webhooks.ts';
import type { Engine } from '../engine.ts';
import { readDeliveries } from './deliveries.ts';

/**
 * Ids of deliveries carry the time of the batch that added them, which is after the mail came and before
 * `receivedAt`; nodes and threads read the clock some milliseconds apart.
 */
const MARGIN_MS = 1_000;

/**
 * The deliveries of one message. Its webhooks' logs are searched by the time of the message, because an index by
 * message would cost every delivery a write.
 */
export function createListOfMessage({ db }: Engine): DeliveryStore['listOfMessage'] {
  return (accountId, { inboxId, messageId, from, to }, now) =>
    readDeliveries(
      db,
      db
        .selectFrom('webhooks as w')
        .innerJoin('deliveries as d', 'd.webhook_id', 'w.id')
        .innerJoin('inboxes as i', 'i.id', 'd.inbox_id')
        .selectAll('d')
        .where('w.account_id', '=', accountId)
        .where('i.account_id', '=', accountId)
        .where('i.expires_at', '>', now)
        .where('d.id', '>=', firstIdAt('dlv', Math.max(0, from - MARGIN_MS)))
        .where('d.id', '<', firstIdAt('dlv', to + MARGIN_MS))
        .where('d.inbox_id', '=', inboxId)
        .where('d.message_id', '=', messageId),
    );
}
