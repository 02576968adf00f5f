/** Runs a query on the tables of a store, of either engine, and returns its rows. */
export type Select = (sql: string) => Promise<Record<string, unknown>[]>;

/** `expires_at` of deleted inboxes and `ends_at` of deleted webhooks. */
const DELETED = 0;

/** Each query returns the rows that break its invariant, at any time at which no call is under way. */
const ALWAYS: Readonly<Record<string, string>> = {
  'a message without its inbox': `select m.id from messages m
    where not exists (select 1 from inboxes i where i.seq = m.inbox_seq)`,
  'a message without its source': `select m.id from messages m
    where not exists (select 1 from sources s where s.seq = m.source_seq)`,
  'a message with the number of another account': `select m.id from messages m
    join inboxes i on i.seq = m.inbox_seq join accounts a on a.id = i.account_id where a.seq <> m.account_seq`,
  'a source without a message': `select s.seq from sources s
    where not exists (select 1 from messages m where m.source_seq = s.seq)
    and not exists (select 1 from parked_sources p where p.source_seq = s.seq)`,
  'a piece without its source': `select p.source_seq from source_pieces p
    where not exists (select 1 from sources s where s.seq = p.source_seq)`,
  'a source without some of its bytes': `select s.seq from sources s
    where s.size <> length(s.raw) +
      coalesce((select sum(length(p.bytes)) from source_pieces p where p.source_seq = s.seq), 0)
    and not exists (select 1 from parked_sources p where p.source_seq = s.seq)`,
  'a wrong number of messages of a shared source': `select s.source_seq, s.messages from shared_sources s
    where s.messages <> (select count(*) from messages m where m.source_seq = s.source_seq)`,
  'a shared source that is not counted': `select source_seq from messages
    where source_seq not in (select source_seq from shared_sources) group by source_seq having count(*) > 1`,
  'a message whose source will be deleted':
    'select m.id from messages m join parked_sources p on p.source_seq = m.source_seq',
  'a parked source without its source': `select p.source_seq from parked_sources p
    where not exists (select 1 from sources s where s.seq = p.source_seq)`,
  'a wrong number of messages of an inbox': `select i.id, i.expires_at, i.message_count,
      (select count(*) from messages m where m.inbox_seq = i.seq and m.received_at > i.emptied_up_to) as messages
    from inboxes i where i.expires_at > ${DELETED} and i.message_count <>
      (select count(*) from messages m where m.inbox_seq = i.seq and m.received_at > i.emptied_up_to)`,
  'a message newer than the last of its inbox, or older than the first': `select m.id from messages m
    join inboxes i on i.seq = m.inbox_seq
    where m.received_at > i.last_received_at or m.received_at < i.first_received_at`,
  'fewer received messages than an inbox has': `select id from inboxes where received_messages < message_count`,
  'a message of an inbox that was freed': `select i.id from inboxes i
    where i.freed = 1
      and exists (select 1 from messages m where m.inbox_seq = i.seq and m.received_at > i.emptied_up_to)`,
  'an order of messages without its account': `select account_seq from account_orders
    where account_seq not in (select seq from accounts)`,
  'a message above the order of its account': `select m.id from messages m
    left join account_orders o on o.account_seq = m.account_seq where o.last is null or m.account_order > o.last`,
  'an account that is not deleted to its end': 'select id from accounts where deleted_at is not null',
  'an entry of an account that does not exist': `select 'idempotency' as of, key_id from idempotency
      where key_id not in (select id from accounts) union all
    select 'deleted_inboxes', account_id from deleted_inboxes where account_id not in (select id from accounts)
    union all
    select 'failed_waits', account_id from failed_waits where account_id not in (select id from accounts)`,
  'an address that is not reserved as long as its inbox': `select a.address, a.busy_until, i.expires_at
    from addresses a join inboxes i on i.id = a.inbox_id
    where i.expires_at > ${DELETED} and a.busy_until <> i.expires_at`,
  'a label without its inbox':
    'select pair from inbox_labels where inbox_seq not in (select seq from inboxes)',
  'a webhook that ends at another time than its inbox': `select w.id, w.ends_at, i.expires_at from webhooks w
    join inboxes i on i.id = w.inbox_id
    where i.expires_at > ${DELETED} and w.ends_at > ${DELETED} and w.ends_at <> i.expires_at`,
  'a pending delivery that will not be claimed': `select d.id from deliveries d
    join webhooks w on w.id = d.webhook_id where d.ended_at is null and w.next_at is null
    and (d.due_at is not null or d.leased_until is not null)
    and not exists (select 1 from wakes k where k.webhook_id = w.id)`,
  'a pending delivery of a mail that was read, without a time': `select d.id from deliveries d
    join messages m on m.id = d.message_id join readings r on r.source_seq = m.source_seq
    where d.ended_at is null and d.due_at is null and d.leased_until is null`,
  'a reading without its source': `select r.source_seq from readings r
    where not exists (select 1 from sources s where s.seq = r.source_seq)`,
  'an unread mail without its source, or with a reading': `select u.source_seq from unread u
    where not exists (select 1 from sources s where s.seq = u.source_seq)
      or exists (select 1 from readings r where r.source_seq = u.source_seq)`,
  'a source that is neither read nor unread': `select s.seq from sources s
    where not exists (select 1 from readings r where r.source_seq = s.seq)
      and not exists (select 1 from unread u where u.source_seq = s.seq)`,
  'a delivery whose columns contradict each other': `select id, state, due_at, leased_until, ended_at from deliveries
    where (state = 'pending') <> (ended_at is null)
      or (case when due_at is null then 0 else 1 end) + (case when leased_until is null then 0 else 1 end)
        > (case state when 'pending' then 1 else 0 end)`,
  'waits without their inbox':
    'select inbox_seq from inbox_waits where inbox_seq not in (select seq from inboxes)',
  'a negative count': 'select account_id as id from usage_months where taken < 0',
};

/** The same after the sweeper found nothing more to do and a claim has looked at every queue. */
const AFTER_SWEEPING: Readonly<Record<string, string>> = {
  'a parked source': 'select source_seq from parked_sources',
  'an inbox that was emptied and has its messages': 'select id from inboxes where emptied_up_to > 0',
  'an inbox that was deleted': `select id from inboxes where expires_at = ${DELETED}`,
  'a webhook that was deleted': `select id from webhooks where ends_at = ${DELETED}`,
  'a wake that was not taken': 'select webhook_id from wakes',
  'a pending delivery of a webhook that is disabled': `select d.id from deliveries d
    join webhooks w on w.id = d.webhook_id where d.ended_at is null and w.enabled = 0`,
};

/** The same for what depends on the time. */
const atTime = (now: number): Readonly<Record<string, string>> => ({
  'a busy address without its inbox': `select address, busy_until from addresses
    where busy_until > ${now} and (inbox_id is null or inbox_id not in (select id from inboxes))`,
  'a live inbox without its address': `select i.id, i.address from inboxes i
    where i.freed = 0 and i.expires_at > ${now} and not exists
      (select 1 from addresses a where a.address = i.address and a.inbox_id = i.id)`,
});

/**
 * Checks what has to be true of the tables of a store while no call is under way, whatever was done before.
 * @param isSwept whether the sweeper has found nothing more to do, and a claim has looked at every queue
 * @returns a line for each invariant that is broken, with some of the rows; none if all hold
 */
export async function brokenInvariants(select: Select, now: number, isSwept: boolean): Promise<string[]> {
  const broken: string[] = [];
  const all = { ...ALWAYS, ...(isSwept ? AFTER_SWEEPING : {}), ...atTime(now) };
  for (const [name, sql] of Object.entries(all)) {
    const rows = await select(sql);
    if (rows.length > 0) broken.push(`${rows.length} × ${name}: ${JSON.stringify(rows.slice(0, 3))}`);
  }
  return broken;
}
