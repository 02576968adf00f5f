import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Expression, type ExpressionBuilder, sql } from 'kysely';
import type { Refusal, RefusalStore } from '../../contract/index.ts';
import { capturedMail, NO_RECIPIENT } from '../../contract/refusals.ts';
import { REFUSAL_KEPT_MS } from '../../contract/retention.ts';
import type { Db, Engine, Tx } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { parseOr } from '../stored-json.ts';
import type { Tables } from '../tables/index.ts';

/** Enough to explain a failed test; a sender that retries forever must not fill the store. */
const MAX_PER_ADDRESS = 50;
/** A few megabytes in all, however many addresses a sender tries. */
const MAX_IN_ALL = 10_000;

/** Rejections written in one transaction: a millisecond or two, for which other writes wait. */
const ADDED_PER_STEP = 100;

/** What is shown of a refusal whose row is damaged. */
const UNKNOWN: Omit<Refusal, 'at' | 'address'> = { reply: '', mailFrom: '', helo: '', remoteAddress: '' };

const toRefusal = ({ at, address, details }: { at: number; address: string; details: string }): Refusal => ({
  at,
  address: parseOr(address, ''),
  ...parseOr(details, UNKNOWN),
});

/** Stores refusals in a transaction, and deletes the oldest of those that are too many. */
export function createInsert({
  db,
  dialect,
}: Pick<Engine, 'db' | 'dialect'>): (tx: Tx, refusals: Refusal[]) => Promise<void> {
  // Those that another transaction is deleting are left to it: two that wait for each other could deadlock.
  const remove = (tooMany: Expression<number>) =>
    db
      .deleteFrom('refusals')
      .where(
        'seq',
        'in',
        dialect.lockFreeRows(db.selectFrom('refusals').select('seq').where('seq', 'in', tooMany)),
      );
  const trimAll = prepare((_: Slots<object>) =>
    remove(
      db
        .selectFrom('refusals')
        .select('seq')
        .orderBy('at', 'desc')
        .orderBy('seq', 'desc')
        .limit(ADDED_PER_STEP)
        .offset(MAX_IN_ALL)
        .$asScalar(),
    ),
  );
  const trimAddresses = (tx: Tx, addresses: readonly string[]) => {
    const newestFirst = sql<number>`row_number() over (partition by address order by at desc, seq desc)`;
    const ofAddresses = db
      .selectFrom('refusals')
      .select(['seq', newestFirst.as('place')])
      .where('address', 'in', addresses)
      .as('r');
    return tx.executeQuery(
      remove(db.selectFrom(ofAddresses).select('r.seq').where('r.place', '>', MAX_PER_ADDRESS).$asScalar()),
    );
  };
  return async (tx, refusals) => {
    if (refusals.length === 0) return;
    const rows = refusals.map(({ address, at, ...details }) => ({
      address: JSON.stringify(address),
      // A quoted local part may contain an @. What is no refusal is on no domain.
      domain: details.capturedBy ? '' : address.slice(address.lastIndexOf('@') + 1),
      ...{ at, details: JSON.stringify(details) },
    }));
    await tx.insertInto('refusals').values(rows).execute();
    await trimAddresses(tx, [...new Set(rows.map(({ address }) => address))]);
    await trimAll(tx, {});
  };
}

// The addresses of inboxes have only characters that JSON does not escape, so removing the quotes is enough.
const unquoted = sql<string>`substr(r.address, 2, length(r.address) - 2)`;
/** See addresses.ts. */
const allOfItsDomain = sql<string>`'@' || r.domain`;

/** Rejections on a domain, except at addresses that another inbox than `inboxId` has or had. */
async function selectOfDomain(db: Db, domain: string, inboxId: string, limit: number, now: number) {
  return db
    .selectFrom('refusals as r')
    .select(['r.at', 'r.address', 'r.details'])
    .where('r.domain', '=', domain)
    .where('r.at', '>', now - REFUSAL_KEPT_MS)
    .where((row) =>
      row.not(
        row.exists(
          row
            .selectFrom('addresses as a')
            .select('a.address')
            .where('a.address', '=', unquoted)
            .where('a.busy_until', '>', 0)
            .where('a.reserved_until', '>', now)
            .where((other) =>
              other.or([other('a.inbox_id', 'is', null), other('a.inbox_id', '!=', inboxId)]),
            ),
        ),
      ),
    )
    .orderBy('r.at', 'desc')
    .orderBy('r.seq', 'desc')
    .limit(limit)
    .execute();
}

type RefusalRow = ExpressionBuilder<Tables & { r: Tables['refusals'] }, 'r'>;

/** Whether an account, or one that is not it, has reserved the address of a refusal, or has a catch-all for it. */
const isReserved = (row: RefusalRow, same: '=' | '!=', accountId: string, now: number) =>
  row.exists(
    row
      .selectFrom('addresses as a')
      .select('a.address')
      .where('a.address', 'in', [unquoted, allOfItsDomain])
      .where('a.reserved_until', '>', now)
      .where('a.account_id', same, accountId),
  );

/** Whether the address of a refusal is on a domain of an account, or of one that is not it. */
const isOnDomain = (row: RefusalRow, same: '=' | '!=', accountId: string) =>
  row.exists(
    row
      .selectFrom('domains as d')
      .select('d.domain')
      .whereRef('d.domain', '=', 'r.domain')
      .where('d.account_id', same, accountId),
  );

/** Refusals for addresses and domains of an account; if it is the only one, for all that no account has. */
function selectByAccount(
  db: Db,
  accountId: string,
  { after, address, limit }: Parameters<RefusalStore['listByAccount']>[1],
  now: number,
) {
  return (
    db
      .selectFrom('refusals as r')
      .select(['r.at', 'r.address', 'r.details'])
      .where('r.at', '>', Math.max(after, now - REFUSAL_KEPT_MS))
      // Without a recipient, or no refusal.
      .where('r.domain', '!=', '')
      .$if(address !== undefined, (query) => query.where('r.address', '=', JSON.stringify(address)))
      // With other accounts, an address that none has may be a typing error of any of them.
      .where((row) =>
        row.or([
          isReserved(row, '=', accountId, now),
          isOnDomain(row, '=', accountId),
          row.not(row.exists(row.selectFrom('accounts').select('id').where('id', '!=', accountId))),
        ]),
      )
      .orderBy('r.at', 'desc')
      .orderBy('r.seq', 'desc')
      .limit(limit)
      .execute()
  );
}

/**
 * Only an address that no inbox had is a near miss: not one whose inbox was full, or asked for faults. The JSON of
 * other fields has no such text, because it escapes quotes.
 */
const hadNoInbox = sql<boolean>`r.details like '%"reply":"550 5.1.1 %' and r.details not like '%"fault":%'`;

/** Rejected addresses that no other account has reserved, and that are not on another account's domain. */
function selectAddresses(
  db: Db,
  accountId: string,
  { after, limit, among = [] }: Parameters<RefusalStore['listAddresses']>[1],
  now: number,
) {
  const keys = among.map((address) => JSON.stringify(address));
  return db
    .selectFrom('refusals as r')
    .select((row) => ['r.address', row.fn.max('r.at').as('at'), row.fn.countAll().as('times')])
    .where('r.at', '>', Math.max(after, now - REFUSAL_KEPT_MS))
    .where(hadNoInbox)
    .$if(keys.length > 0, (query) => query.where('r.address', 'in', keys))
    .where((row) => row.not(isReserved(row, '!=', accountId, now)))
    .where((row) => row.not(isOnDomain(row, '!=', accountId)))
    .groupBy('r.address')
    .orderBy('at', 'desc')
    .limit(limit)
    .execute();
}

export function createRefusals(engine: Engine): RefusalStore {
  const { db, transaction } = engine;
  const insert = createInsert(engine);
  const selectOfAddress = prepare((value: Slots<{ address: string; after: number; limit: number }>) =>
    db
      .selectFrom('refusals')
      .select(['at', 'address', 'details'])
      .where('address', '=', value.address)
      .where('at', '>', value.after)
      .orderBy('at', 'desc')
      .orderBy('seq', 'desc')
      .limit(value.limit),
  );
  // The store keeps a few dozen rows of an address.
  const selectConcerning = prepare(
    (value: Slots<{ own: string; captured: string; unnamed: string; after: number }>) =>
      db
        .selectFrom('refusals')
        .select(['at', 'address', 'details'])
        .where('address', 'in', [value.own, value.captured, value.unnamed])
        .where('at', '>', value.after)
        .orderBy('at', 'desc')
        .orderBy('seq', 'desc'),
  );
  // One text for all rows: a row of its own for each would cost more than finding them.
  const selectRecent = prepare((value: Slots<{ after: number }>) => {
    const newest = db
      .selectFrom('refusals as r')
      .select(sql<string>`r.at || ' ' || r.address`.as('line'))
      .where('r.at', '>', value.after)
      .where(hadNoInbox)
      .orderBy('r.at', 'desc')
      .limit(MAX_IN_ALL)
      .as('newest');
    return db.selectFrom(newest).select(sql<string | null>`string_agg(line, '\n')`.as('lines'));
  });
  return {
    async add(refusals) {
      for (let from = 0; from < refusals.length; from += ADDED_PER_STEP) {
        if (from > 0) await nextTurn();
        const step = refusals.slice(from, from + ADDED_PER_STEP);
        await transaction((tx) => insert(tx, step));
      }
    },

    async list(address, limit, now) {
      const after = now - REFUSAL_KEPT_MS;
      const rows = await selectOfAddress(db, { address: JSON.stringify(address), after, limit });
      return rows.map(toRefusal);
    },

    async listConcerning(address, after, now) {
      const [own, captured, unnamed] = [address, capturedMail(address), NO_RECIPIENT].map((one) =>
        JSON.stringify(one),
      ) as [string, string, string];
      const rows = await selectConcerning(db, {
        ...{ own, captured, unnamed },
        after: Math.max(after, now - REFUSAL_KEPT_MS),
      });
      return rows.map(toRefusal);
    },

    async listByDomain(domain, inboxId, limit, now) {
      return (await selectOfDomain(db, domain, inboxId, limit, now)).map(toRefusal);
    },

    async listByAccount(accountId, query, now) {
      return (await selectByAccount(db, accountId, query, now)).map(toRefusal);
    },

    async recent(after, now) {
      const [row] = await selectRecent(db, { after: Math.max(after, now - REFUSAL_KEPT_MS) });
      return row?.lines ?? '';
    },

    async listAddresses(accountId, page, now) {
      const rows = await selectAddresses(db, accountId ?? '', page, now);
      return rows.map(({ address, at, times }) => ({
        address: parseOr(address, ''),
        at,
        times: Number(times),
      }));
    },
  };
}
