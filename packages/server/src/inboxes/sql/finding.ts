import { anyOf, constant, EMPTY, join, LIKE, type Page, read, type Sql, sql } from '../../database/sql.ts';
import { domainOf } from '../../mail/address.ts';
import {
  type AddressedInbox,
  type InboxRecord,
  type Occupancy,
  type Takers,
  TOMBSTONE_MS,
} from '../records.ts';
import { allOfDomain, EVERYTHING } from './addresses.ts';

export const INBOX = constant(
  `id, kind, account_id as "accountId", address, labels, ttl_minutes as "ttlMinutes", created_at as "createdAt",
  expires_at as "expiresAt", max_expires_at as "maxExpiresAt", message_count as "messageCount",
  received_messages as "receivedCount", last_received_at as "lastReceivedAt", version, freed,
  replay_until as "replayUntil"`,
);

export interface InboxRow extends Omit<InboxRecord, 'labels' | 'localPart' | 'domain' | 'replay'> {
  labels: string;
  freed: number;
  replayUntil: number | null;
}

/** The sweeper marks expired inboxes as `freed`. These stay expired, even if the clock is set back. */
export function toInbox({ labels, freed, replayUntil, ...row }: InboxRow, now: number): InboxRecord {
  const at = row.address.lastIndexOf('@');
  return {
    ...row,
    replay: replayUntil === null ? 'none' : replayUntil === 0 ? 'cut' : 'running',
    localPart: row.address.slice(0, at),
    domain: row.address.slice(at + 1),
    labels: JSON.parse(labels),
    expiresAt: freed === 0 ? row.expiresAt : Math.min(row.expiresAt, now),
  };
}

export const pairOf = (name: string, value: string): string => JSON.stringify([name, value]);

export const hasLabels = (accountId: string, labels: Record<string, string>): Sql =>
  join(
    [
      sql`account_id = ${accountId}`,
      ...Object.entries(labels).map(
        ([name, value]) =>
          sql`id in (select inbox_id from inbox_labels where account_id = ${accountId} and pair = ${pairOf(name, value)})`,
      ),
    ],
    ' and ',
  );

export const isListed = (
  accountId: string,
  labels: Record<string, string>,
  before: string | null,
  now: number,
): Sql =>
  sql`${hasLabels(accountId, labels)} and expires_at > ${now} and freed = 0
    ${before === null ? EMPTY : sql`and id < ${before}`}`;

/** Condition for the inbox that has or had this address, otherwise for the domain's catch-all inbox. */
const takes = (address: string, now: number): Sql =>
  sql`and id = (select inbox_id from addresses
    where address in (${address}, ${allOfDomain(domainOf(address))}) and busy_until > 0 and reserved_until > ${now}
    order by case when address = ${address} then 0 else 1 end limit 1)`;

/** Condition: the address or the JSON text of the labels has the word. `team=a` finds `team":"a` in JSON. */
const hasWord = (word: string): Sql => {
  const asJson = (text: string) => JSON.stringify(text).slice(1, -1);
  const pattern = (text: string) => `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
  const inLabels = asJson(word).replace('=', '":"');
  return sql`and (address ${LIKE} ${pattern(asJson(word))} escape '\\' or labels ${LIKE} ${pattern(inLabels)} escape '\\')`;
};

interface AddressRow extends Omit<AddressedInbox, 'hasFaults'> {
  place: string;
  occupant: string | null;
  faultsLeft: number;
}

export const finding = {
  /** If the inbox has expired in the last 24 hours, only id, address, times and labels are meaningful. */
  find: read(async (db, accountId: string, inboxId: string, now: number) => {
    const row = await db.first<InboxRow>(
      sql`select ${INBOX} from inboxes
        where id = ${inboxId} and account_id = ${accountId} and expires_at > ${now - TOMBSTONE_MS}`,
    );
    return row && toInbox(row, now);
  }),

  findByToken: read(async (db, tokenHash: string, now: number): Promise<InboxRecord | undefined> => {
    const row = await db.first<InboxRow>(
      sql`select ${INBOX} from inboxes where token_hash = ${tokenHash} and expires_at > ${now - TOMBSTONE_MS}`,
    );
    return row && toInbox(row, now);
  }),

  /** Hash of the read token of a live inbox; it signs short-lived links to the inbox. */
  findTokenHash: read(async (db, inboxId: string, now: number): Promise<string | undefined> => {
    const row = await db.first<{ hash: string }>(
      sql`select token_hash as hash from inboxes where id = ${inboxId} and expires_at > ${now} and freed = 0`,
    );
    return row?.hash;
  }),

  /** Live inboxes, newest first. With `address`: only the inbox that gets mail for this address. */
  list: read(
    async (
      db,
      accountId: string,
      page: Page & { labels: Record<string, string>; words?: readonly string[]; address?: string },
      now: number,
    ) => {
      const { labels, words = [], address, limit, before } = page;
      const rows = await db.all<InboxRow>(
        sql`select ${INBOX} from inboxes where ${isListed(accountId, labels, before, now)}
          ${address === undefined ? EMPTY : takes(address, now)} ${join(words.map(hasWord), ' ')} order by id desc limit ${limit + 1}`,
      );
      return { inboxes: rows.slice(0, limit).map((row) => toInbox(row, now)), hasMore: rows.length > limit };
    },
  ),

  /** The inboxes that may receive mail for an address (lower case, without a tag). */
  findTakers: read(async (db, address: string, now: number): Promise<Takers> => {
    const domain = allOfDomain(domainOf(address));
    // `busy_until` is 0 if an address is reserved without an inbox.
    const rows = await db.all<AddressRow>(
      sql`select a.address as place, a.inbox_id as occupant, i.id as "inboxId", i.kind, i.account_id as "accountId",
        i.address, i.message_count as "messageCount", i.expires_at as "expiresAt", i.faults_left as "faultsLeft",
        c.plan from addresses a
        left join inboxes i on i.id = a.inbox_id and i.expires_at > ${now}
        left join accounts c on c.id = i.account_id
        where a.address ${anyOf([address, domain, EVERYTHING])} and a.busy_until > 0 and a.reserved_until > ${now}`,
    );
    const found = new Map<string, Occupancy>();
    for (const { place, occupant, faultsLeft, ...inbox } of rows) {
      // Columns of the outer joins are null without a live inbox.
      const live = inbox.plan ? { ...inbox, hasFaults: faultsLeft > 0 } : undefined;
      found.set(place, { inboxId: occupant, live });
    }
    return { ofAddress: found.get(address), ofDomain: found.get(domain), sink: found.get(EVERYTHING)?.live };
  }),
};
