import { domainOf } from '../../../mail/address.ts';
import type { AddressedInbox, InboxKind, InboxStore, Occupancy } from '../../contract/index.ts';
import type { Db } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { allOfDomain, EVERYTHING } from './addresses.ts';

interface Row {
  id: string;
  kind: InboxKind;
  account_id: string;
  address: string;
  message_count: number;
  expires_at: number;
  faults_left: number;
  plan: string;
}

const COLUMNS = [
  'i.id',
  'i.kind',
  'i.account_id',
  'i.address',
  'i.message_count',
  'i.expires_at',
  'i.faults_left',
  'c.plan',
] as const;

const toAddressed = (row: Row): AddressedInbox => ({
  inboxId: row.id,
  kind: row.kind,
  accountId: row.account_id,
  plan: row.plan,
  address: row.address,
  messageCount: row.message_count,
  expiresAt: row.expires_at,
  hasFaults: row.faults_left > 0,
});

/** The inbox of a row of the outer join, if it is live. */
const liveOf = (row: { [K in keyof Row]: Row[K] | null }): AddressedInbox | undefined =>
  row.id === null || row.plan === null ? undefined : toAddressed(row as Row);

/**
 * A subquery for the id of the inbox that takes mail for an address: its own inbox, also if that ended within
 * the quarantine, otherwise the catch-all inbox of the domain. The inbox may have ended.
 */
export const takerOf = (db: Db, address: string, now: number) =>
  db
    .selectFrom('addresses as a')
    .select('a.inbox_id')
    .where('a.address', 'in', [address, allOfDomain(domainOf(address))])
    .where('a.busy_until', '>', 0)
    .where('a.reserved_until', '>', now)
    .orderBy((row) => row.case().when('a.address', '=', address).then(0).else(1).end())
    .limit(1);

/** The queries that find the inbox for a recipient. */
export function createTakers(db: Db): Pick<InboxStore, 'findByAddress' | 'findTakers'> {
  const selectByAddress = prepare((value: Slots<{ address: string; now: number }>) =>
    db
      .selectFrom('addresses as a')
      .innerJoin('inboxes as i', 'i.id', 'a.inbox_id')
      .innerJoin('accounts as c', 'c.id', 'i.account_id')
      .select(COLUMNS)
      .where('a.address', '=', value.address)
      .where('i.expires_at', '>', value.now),
  );
  const selectTakers = prepare((value: Slots<{ address: string; domain: string; now: number }>) =>
    db
      .selectFrom('addresses as a')
      .leftJoin('inboxes as i', (join) =>
        join.onRef('i.id', '=', 'a.inbox_id').on('i.expires_at', '>', value.now),
      )
      .leftJoin('accounts as c', 'c.id', 'i.account_id')
      .select(['a.address as place', 'a.inbox_id'])
      .select(COLUMNS)
      .where('a.address', 'in', [value.address, value.domain, EVERYTHING])
      // A hold has never been busy.
      .where('a.busy_until', '>', 0)
      .where('a.reserved_until', '>', value.now),
  );
  return {
    async findByAddress(address, now) {
      const [row] = await selectByAddress(db, { address, now });
      return row && toAddressed(row);
    },

    async findTakers(address, now) {
      const domain = allOfDomain(domainOf(address));
      const rows = await selectTakers(db, { address, domain, now });
      const at = (place: string): Occupancy | undefined => {
        const row = rows.find((one) => one.place === place);
        return row && { inboxId: row.inbox_id, live: liveOf(row) };
      };
      return { ofAddress: at(address), ofDomain: at(domain), sink: at(EVERYTHING)?.live };
    },
  };
}
