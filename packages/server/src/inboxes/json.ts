import type { CreatedInbox, Inbox } from '@mayfly/client/contract';
import type { Plan } from '../accounts/plans.ts';
import { toTime } from '../http/response/time.ts';
import { cursorAt } from '../messages/cursor.ts';
import type { CreatedInbox as CreatedRecord, InboxRecord } from './records.ts';

/** @param plan of the account of the inbox */
export function toInbox(inbox: InboxRecord, plan: Plan): Inbox {
  return {
    id: inbox.id,
    address: inbox.address,
    catchAll: inbox.kind !== 'address',
    domain: inbox.domain,
    labels: inbox.labels,
    createdAt: toTime(inbox.createdAt),
    expiresAt: toTime(inbox.expiresAt),
    ttlMinutes: inbox.ttlMinutes,
    maxExpiresAt: toTime(inbox.maxExpiresAt),
    messageCount: inbox.messageCount,
    full: inbox.kind !== 'sink' && inbox.messageCount >= plan.maxMessagesPerInbox,
    eviction: inbox.kind === 'sink' ? 'oldest' : 'none',
    replay: inbox.replay,
    lastMessageAt: inbox.lastReceivedAt === 0 ? null : toTime(inbox.lastReceivedAt),
    cursor: cursorAt(inbox.id, inbox.lastReceivedAt),
  };
}

/** Adds the fields that only the response to the creation has. @param token the read token */
export const toCreatedInbox = (
  { inbox, webhook }: CreatedRecord,
  plan: Plan,
  token: string,
): CreatedInbox => ({
  ...toInbox(inbox, plan),
  token,
  ...(webhook && { webhook }),
});
