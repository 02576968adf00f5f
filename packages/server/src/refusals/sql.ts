import { setImmediate as nextTurn } from 'node:timers/promises';
import { DAY_MS } from '../clock.ts';
import { read, search, steps, type Tx } from '../database/operations.ts';
import { anyOf, constant, EMPTY, eachOf, FOR_UPDATE_SKIP_LOCKED, type Sql, sql } from '../database/sql.ts';
import { parseOr } from '../database/stored-json.ts';

/** How long rejections are stored: they explain tests that failed recently. */
export const REFUSAL_KEPT_MS = DAY_MS;
/** Enough to explain a failed test; a sender that retries forever must not fill the store. */
const MAX_PER_ADDRESS = 50;
/** A few megabytes in all, however many addresses a sender tries. */
const MAX_IN_ALL = 10_000;
/** Rejections written in one transaction: a millisecond or two, for which other writes wait. */
const ADDED_PER_STEP = 100;

/** Where a fault applies: in place of the reply to RCPT, of the 354, or of the reply to the final dot. */
export type FaultPoint = 'rcpt' | 'data' | 'end-of-data';

/** A fault rule that was applied. */
export interface AppliedFault {
  /** Its place among the inbox's rules, from 1 on. */
  rule: number;
  at: FaultPoint;
  /** Before the reply; 0 for none. */
  delayMs: number;
  disconnect: boolean;
}

/**
 * The `address` of a {@link Refusal} without a recipient: a failed TLS handshake, or a MAIL command that was
 * refused for its size. Only the latter has a `reply` that begins with a code.
 */
export const NO_RECIPIENT = '';

/** A RCPT or DATA for an address on a served domain without a 250 reply, or a failed TLS handshake. */
export interface Refusal {
  at: number;
  /** Lower case, without a tag; or {@link NO_RECIPIENT}. */
  address: string;
  /** Code and text of the reply; the reason of a failed handshake; '' where a fault gave no reply. */
  reply: string;
  mailFrom: string;
  helo: string;
  remoteAddress: string;
  /** The fault rule that caused it, also one that only delayed the reply. */
  fault?: AppliedFault;
  /** Of a connection that ended: whether it was in the middle of a message, and not before DATA. */
  hadBegun?: boolean;
  /** The inbox that received the mail in place of the inbox of the address; see {@link capturedMail}. */
  capturedBy?: { inboxId: string; accountId: string };
}

/**
 * What stands for the address in a {@link Refusal} that is none: mail for that address was stored in another inbox,
 * because its sender had authenticated for that one.
 */
export const capturedMail = (address: string): string => `captured ${address}`;

/** An address to which mail was refused. */
export interface RefusedAddress {
  address: string;
  /** The last time. */
  at: number;
  /** How often. */
  times: number;
}

interface Row {
  at: number;
  address: string;
  details: string;
}
const COLUMNS = constant('r.at, r.address, r.details');
const NEWEST_FIRST = constant('order by r.at desc, r.seq desc');

/** What is shown of a refusal whose row is damaged. */
const UNKNOWN: Omit<Refusal, 'at' | 'address'> = { reply: '', mailFrom: '', helo: '', remoteAddress: '' };

const toRefusal = ({ at, address, details }: Row): Refusal => ({
  at,
  address: parseOr(address, ''),
  ...parseOr(details, UNKNOWN),
});

/** Those that another transaction is deleting are left to it: two that wait for each other could deadlock. */
const remove = (tx: Tx, tooMany: Sql): Promise<number> =>
  tx.run(
    sql`delete from refusals where seq in (select seq from refusals where seq in (${tooMany}) ${FOR_UPDATE_SKIP_LOCKED})`,
  );

/** Stores refusals, and deletes the oldest of those that are too many. */
export async function insertRefusals(tx: Tx, refusals: readonly Refusal[]): Promise<void> {
  const rows = refusals.map(({ address, at, ...details }) => ({
    address: JSON.stringify(address),
    // A quoted local part may contain an @. What is no refusal is on no domain.
    domain: details.capturedBy ? '' : address.slice(address.lastIndexOf('@') + 1),
    at,
    details: JSON.stringify(details),
  }));
  await tx.run(
    sql`insert into refusals (address, domain, at, details)
      select r.value ->> 'address', r.value ->> 'domain', cast(r.value ->> 'at' as bigint), r.value ->> 'details'
      from ${eachOf(rows)} as r`,
  );
  await remove(
    tx,
    sql`select seq from (
        select seq, row_number() over (partition by address order by at desc, seq desc) as place
        from refusals where address ${anyOf([...new Set(rows.map(({ address }) => address))])}
      ) as r where place > ${MAX_PER_ADDRESS}`,
  );
  await remove(
    tx,
    sql`select seq from refusals order by at desc, seq desc limit ${ADDED_PER_STEP} offset ${MAX_IN_ALL}`,
  );
}

/** The addresses of inboxes have only characters that JSON does not escape, so removing the quotes is enough. */
const UNQUOTED = constant('substr(r.address, 2, length(r.address) - 2)');

/** Whether an account, or one that is not it, has reserved the address of a refusal, or has a catch-all for it. */
const isReserved = (same: '=' | '<>', accountId: string, now: number) =>
  sql`exists (select 1 from addresses a where a.address in (${UNQUOTED}, '@' || r.domain)
    and a.reserved_until > ${now} and a.account_id ${constant(same)} ${accountId})`;

/** Whether the address of a refusal is on a domain of an account, or of one that is not it. */
const isOnDomain = (same: '=' | '<>', accountId: string) =>
  sql`exists (select 1 from domains d where d.domain = r.domain and d.account_id ${constant(same)} ${accountId})`;

/**
 * Only an address that no inbox had is a near miss: not one whose inbox was full, or asked for faults. The JSON of
 * other fields has no such text, because it escapes quotes.
 */
const HAD_NO_INBOX = constant(`r.details like '%"reply":"550 5.1.1 %' and r.details not like '%"fault":%'`);

const since = (after: number, now: number): number => Math.max(after, now - REFUSAL_KEPT_MS);

/** Refused mail. */
export const refusals = {
  /** Stores them, up to a number per address and in all, of which the oldest are deleted. */
  add: steps(
    async (transaction, added: Refusal[]): Promise<void> => {
      for (let from = 0; from < added.length; from += ADDED_PER_STEP) {
        if (from > 0) await nextTurn();
        const step = added.slice(from, from + ADDED_PER_STEP);
        await transaction((tx) => insertRefusals(tx, step));
      }
    },
    { keepsInboxes: true },
  ),

  /** Of one address, newest first, not older than 24 h. */
  list: read(async (db, address: string, limit: number, now: number): Promise<Refusal[]> => {
    const rows = await db.all<Row>(
      sql`select ${COLUMNS} from refusals r
        where r.address = ${JSON.stringify(address)} and r.at > ${now - REFUSAL_KEPT_MS}
        ${NEWEST_FIRST} limit ${limit}`,
    );
    return rows.map(toRefusal);
  }),

  /**
   * What may concern mail for an address after a time, newest first: its refusals, mail for it that was captured
   * ({@link capturedMail}), and refusals without a recipient ({@link NO_RECIPIENT}).
   */
  listConcerning: read(async (db, address: string, after: number, now: number): Promise<Refusal[]> => {
    const keys = [address, capturedMail(address), NO_RECIPIENT].map((one) => JSON.stringify(one));
    // The store keeps a few dozen rows of an address.
    const rows = await db.all<Row>(
      sql`select ${COLUMNS} from refusals r where r.address ${anyOf(keys)} and r.at > ${since(after, now)} ${NEWEST_FIRST}`,
    );
    return rows.map(toRefusal);
  }),

  /** Of all addresses of a domain, except those that another inbox has, or had within the quarantine. */
  listByDomain: read(
    async (db, domain: string, inboxId: string, limit: number, now: number): Promise<Refusal[]> => {
      const rows = await db.all<Row>(
        sql`select ${COLUMNS} from refusals r where r.domain = ${domain} and r.at > ${now - REFUSAL_KEPT_MS}
          and not exists (select 1 from addresses a where a.address = ${UNQUOTED} and a.busy_until > 0
            and a.reserved_until > ${now} and (a.inbox_id is null or a.inbox_id <> ${inboxId}))
          ${NEWEST_FIRST} limit ${limit}`,
      );
      return rows.map(toRefusal);
    },
  ),

  /**
   * For the addresses that an account has, holds, or had within the quarantine, by themselves or by a catch-all
   * inbox, and for its own domains; if it is the only account, also for addresses that no account has. Newest
   * first, not older than 24 h. Refusals without a recipient are left out.
   */
  listByAccount: search(
    async (
      db,
      accountId: string,
      { after, address, limit }: { after: number; address?: string; limit: number },
      now: number,
    ): Promise<Refusal[]> => {
      const ofAddress = address === undefined ? EMPTY : sql`and r.address = ${JSON.stringify(address)}`;
      // With other accounts, an address that none has may be a typing error of any of them.
      const rows = await db.all<Row>(
        sql`select ${COLUMNS} from refusals r where r.at > ${since(after, now)} and r.domain <> '' ${ofAddress}
          and (${isReserved('=', accountId, now)} or ${isOnDomain('=', accountId)}
            or not exists (select 1 from accounts where id <> ${accountId}))
          ${NEWEST_FIRST} limit ${limit}`,
      );
      return rows.map(toRefusal);
    },
  ),

  /**
   * Addresses that were refused with 550 5.1.1, because no inbox had them, after a time and not longer than
   * 24 h ago, the latest first. Addresses that another account has, holds, or had within the quarantine, by
   * themselves or by a catch-all inbox, and those of another account's domains, are left out; for no account
   * (`null`) those of every account.
   * @param page `among`: the addresses that are of interest
   */
  listAddresses: read(
    async (
      db,
      accountId: string | null,
      { after, limit, among = [] }: { after: number; limit: number; among?: readonly string[] },
      now: number,
    ): Promise<RefusedAddress[]> => {
      const keys = among.map((address) => JSON.stringify(address));
      const rows = await db.all<RefusedAddress>(
        sql`select r.address, max(r.at) as at, count(*) as times from refusals r
          where r.at > ${since(after, now)} and ${HAD_NO_INBOX}
          ${keys.length === 0 ? EMPTY : sql`and r.address ${anyOf(keys)}`}
          and not ${isReserved('<>', accountId ?? '', now)} and not ${isOnDomain('<>', accountId ?? '')}
          group by r.address order by at desc limit ${limit}`,
      );
      return rows.map((row) => ({ ...row, address: parseOr(row.address, '') }));
    },
  ),

  /**
   * All refusals of that kind after a time, newest first: a line for each, its time, a space, and the address as
   * JSON. Most of them are none of an account's business; {@link listAddresses} says which are.
   */
  recent: read(async (db, after: number, now: number): Promise<string> => {
    // One text for all rows: a row of its own for each would cost more than finding them.
    const row = await db.first<{ lines: string | null }>(
      sql`select string_agg(line, '\n') as lines from (
          select r.at || ' ' || r.address as line from refusals r where r.at > ${since(after, now)} and ${HAD_NO_INBOX}
          order by r.at desc limit ${MAX_IN_ALL}
        ) as newest`,
    );
    return row?.lines ?? '';
  }),
};
