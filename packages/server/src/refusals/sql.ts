import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AppliedFault, ProviderName } from '@mayfly/client/contract';
import { DAY_MS } from '../clock.ts';
import {
  anyOf,
  constant,
  type Db,
  EMPTY,
  eachOf,
  FOR_UPDATE_SKIP_LOCKED,
  parseOr,
  read,
  type Sql,
  search,
  sql,
  steps,
  type Tx,
} from '../database/sql.ts';

export const REFUSAL_KEPT_MS = DAY_MS;
/** Limit per address, so that a sender that retries forever does not fill the store. */
const MAX_PER_ADDRESS = 50;
/** Limit for all addresses together. So many refusals take a few megabytes in the store. */
const MAX_IN_ALL = 10_000;
/** Refusals per transaction. A transaction takes one or two milliseconds, during which other writes wait. */
const ADDED_PER_STEP = 100;

export type FaultPoint = AppliedFault['at'];

/** `address` of a refusal that has no recipient: of a TLS handshake, credentials or a MAIL command. */
export const NO_RECIPIENT = '';

/** Refused mail or credentials, a failed TLS handshake, an applied fault rule, or {@link capturedMail}. */
export interface Refusal {
  at: number;
  /** Lower case, without a tag; or {@link NO_RECIPIENT}. */
  address: string;
  /** Code and text of the reply; the reason of a failed handshake; '' if no reply refused the mail. */
  reply: string;
  mailFrom: string;
  helo: string;
  remoteAddress: string;
  fault?: AppliedFault;
  /** True if the client disconnected while it sent a message, after DATA. */
  hadBegun?: boolean;
  /** Set for {@link capturedMail}: the inbox that received the mail. */
  capturedBy?: { inboxId: string; accountId: string };
  via?: ProviderName;
}

/** If `ifOwned` is a domain, the refusal is stored only if an account had it when the mail was refused. */
export type NewRefusal = Refusal & { ifOwned?: string };

/** Key for mail to `address` that went to another inbox, because the client authenticated for that inbox. */
export const capturedMail = (address: string): string => `captured ${address}`;

interface Row {
  at: number;
  address: string;
  details: string;
}
const NEWEST_FIRST = constant('order by r.at desc, r.seq desc');

const UNKNOWN: Omit<Refusal, 'at' | 'address'> = { reply: '', mailFrom: '', helo: '', remoteAddress: '' };

const toRefusal = ({ at, address, details }: Row): Refusal => ({
  at,
  address: parseOr(address, ''),
  ...parseOr(details, UNKNOWN),
});

const list = async (db: Db, which: Sql): Promise<Refusal[]> =>
  (await db.all<Row>(sql`select r.at, r.address, r.details from refusals r where ${which}`)).map(toRefusal);

/** Skips rows that another transaction is deleting, to prevent deadlocks. */
const remove = (tx: Tx, tooMany: Sql): Promise<number> =>
  tx.run(
    sql`delete from refusals where seq in (select seq from refusals where seq in (${tooMany}) ${FOR_UPDATE_SKIP_LOCKED})`,
  );

export async function insertRefusals(tx: Tx, refusals: readonly NewRefusal[]): Promise<void> {
  const rows = refusals.map(({ address, at, ifOwned = '', ...details }) => ({
    address: JSON.stringify(address),
    // A quoted local part may contain an @, so take the last one. Captured mail is stored without a domain.
    domain: details.capturedBy ? '' : address.slice(address.lastIndexOf('@') + 1),
    ifOwned,
    at,
    hadNoInbox: details.reply.startsWith('550 5.1.1 ') && !details.fault ? 1 : 0,
    details: JSON.stringify(details),
  }));
  await tx.run(
    sql`insert into refusals (address, domain, at, had_no_inbox, details)
      select r.value ->> 'address', r.value ->> 'domain', cast(r.value ->> 'at' as bigint),
        cast(r.value ->> 'hadNoInbox' as bigint), r.value ->> 'details'
      from ${eachOf(rows)} as r
      where r.value ->> 'ifOwned' = '' or exists (select 1 from domains d
        where d.domain = r.value ->> 'ifOwned' and d.created_at <= cast(r.value ->> 'at' as bigint))`,
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

/** The address without its JSON quotes. An inbox address has no characters that JSON would escape. */
const UNQUOTED = constant('substr(r.address, 2, length(r.address) - 2)');

/** True if the account (`=`) or another one (`<>`) has reserved the address, or its domain as a catch-all. */
const isReserved = (same: '=' | '<>', accountId: string, now: number) =>
  sql`exists (select 1 from addresses a where a.address in (${UNQUOTED}, '@' || r.domain)
    and a.reserved_until > ${now} and a.account_id ${constant(same)} ${accountId})`;

const isOnDomain = (same: '=' | '<>', accountId: string) =>
  sql`exists (select 1 from domains d where d.domain = r.domain and d.account_id ${constant(same)} ${accountId})`;

const since = (after: number, now: number): number => Math.max(after, now - REFUSAL_KEPT_MS);

interface Page {
  after: number;
  limit: number;
}

export const refusals = {
  add: steps({ keepsInboxes: true }, async (transaction, added: NewRefusal[]) => {
    for (let from = 0; from < added.length; from += ADDED_PER_STEP) {
      if (from > 0) await nextTurn();
      const step = added.slice(from, from + ADDED_PER_STEP);
      await transaction((tx) => insertRefusals(tx, step));
    }
  }),

  /** Refusals and {@link capturedMail} of an address, and refusals without a recipient, newest first. */
  listConcerning: read((db, address: string, after: number, now: number) => {
    const keys = [address, capturedMail(address), NO_RECIPIENT].map((one) => JSON.stringify(one));
    return list(db, sql`r.address ${anyOf(keys)} and r.at > ${since(after, now)} ${NEWEST_FIRST}`);
  }),

  /** Refusals for a domain, except for addresses that another inbox has, or had in the last 7 days (quarantine). */
  listByDomain: read((db, domain: string, inboxId: string, limit: number, now: number) =>
    list(
      db,
      sql`r.domain = ${domain} and r.at > ${now - REFUSAL_KEPT_MS}
        and not exists (select 1 from addresses a where a.address = ${UNQUOTED} and a.busy_until > 0
          and a.reserved_until > ${now} and (a.inbox_id is null or a.inbox_id <> ${inboxId}))
        ${NEWEST_FIRST} limit ${limit}`,
    ),
  ),

  /** Refusals for the account's domains, and for addresses that it has, reserves or had within 7 days. */
  listByAccount: search((db, accountId: string, page: Page & { address?: string }, now: number) => {
    const { after, address, limit } = page;
    const ofAddress = address === undefined ? EMPTY : sql`and r.address = ${JSON.stringify(address)}`;
    // If the server has one account, it also gets refusals for unknown addresses: they concern nobody else.
    return list(
      db,
      sql`r.at > ${since(after, now)} and r.domain <> '' ${ofAddress}
        and (${isReserved('=', accountId, now)} or ${isOnDomain('=', accountId)}
          or not exists (select 1 from accounts where id <> ${accountId}))
        ${NEWEST_FIRST} limit ${limit}`,
    );
  }),

  /** Refused addresses without an inbox, latest first, except those that other accounts own or have reserved. */
  listAddresses: read(
    async (db, accountId: string | null, page: Page & { among?: string[] }, now: number) => {
      const { after, limit, among = [] } = page;
      const keys = among.map((address) => JSON.stringify(address));
      const rows = await db.all<{ address: string }>(
        sql`select r.address from refusals r
        where r.at > ${since(after, now)} and r.had_no_inbox = 1
        ${keys.length === 0 ? EMPTY : sql`and r.address ${anyOf(keys)}`}
        and not ${isReserved('<>', accountId ?? '', now)} and not ${isOnDomain('<>', accountId ?? '')}
        group by r.address order by max(r.at) desc limit ${limit}`,
      );
      return rows.map(({ address }) => parseOr(address, ''));
    },
  ),

  /** Refusals of addresses without an inbox, newest first. Each line is a time, a space and a JSON string. */
  recent: read(async (db, after: number, now: number): Promise<string> => {
    // Returns one text, because a result row for each refusal would take longer than the query itself.
    const row = await db.first<{ lines: string | null }>(
      sql`select string_agg(line, '\n') as lines from (
          select r.at || ' ' || r.address as line from refusals r where r.at > ${since(after, now)} and r.had_no_inbox = 1
          order by r.at desc limit ${MAX_IN_ALL}
        ) as newest`,
    );
    return row?.lines ?? '';
  }),
};
