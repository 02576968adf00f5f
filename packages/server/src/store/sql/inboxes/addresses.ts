import type { AddressStore } from '../../contract/index.ts';
import { ADDRESS_QUARANTINE_MS } from '../../contract/retention.ts';
import type { Db, Tx } from '../dialect.ts';

/** An inbox's address as its row needs it. */
interface Tenancy {
  accountId: string;
  address: string;
  inboxId: string;
  expiresAt: number;
}

/**
 * Takes or holds an address, in one statement that decides as well. It may be taken when no inbox
 * lives there and nobody else has it reserved: a hold or the quarantine after an inbox.
 */
async function occupy(
  db: Db,
  row: { account_id: string; address: string; inbox_id: string | null; busy_until: number; until: number },
  now: number,
): Promise<boolean> {
  const { until, ...occupant } = row;
  const taken = await db
    .insertInto('addresses')
    .values({ ...occupant, reserved_until: until })
    .onConflict((conflict) =>
      conflict
        .column('address')
        .doUpdateSet((row) => ({
          account_id: row.ref('excluded.account_id'),
          inbox_id: row.ref('excluded.inbox_id'),
          busy_until: row.ref('excluded.busy_until'),
          // One's own later reservation stays: a hold of ten minutes must not end a quarantine of days.
          reserved_until: row
            .case()
            .when(
              row.and([
                row('addresses.account_id', '=', row.ref('excluded.account_id')),
                row('addresses.reserved_until', '>', row.ref('excluded.reserved_until')),
              ]),
            )
            .then(row.ref('addresses.reserved_until'))
            .else(row.ref('excluded.reserved_until'))
            .end(),
        }))
        .where('addresses.busy_until', '<=', now)
        .where((row) =>
          row.or([
            row('addresses.reserved_until', '<=', now),
            row('addresses.account_id', '=', row.ref('excluded.account_id')),
          ]),
        ),
    )
    .returning('address')
    .executeTakeFirst();
  return taken !== undefined;
}

/** Takes an address for a new inbox; false when it is not free for that account. */
export function claimAddress(tx: Tx, tenancy: Tenancy, now: number): Promise<boolean> {
  const { accountId, address, inboxId, expiresAt } = tenancy;
  const until = expiresAt + ADDRESS_QUARANTINE_MS;
  return occupy(tx, { account_id: accountId, address, inbox_id: inboxId, busy_until: expiresAt, until }, now);
}

/** Follows a change of a live inbox's expiry. */
export async function moveAddressEnd(tx: Tx, tenancy: Omit<Tenancy, 'accountId'>): Promise<void> {
  await tx
    .updateTable('addresses')
    .set({ busy_until: tenancy.expiresAt, reserved_until: tenancy.expiresAt + ADDRESS_QUARANTINE_MS })
    .where('address', '=', tenancy.address)
    .where('inbox_id', '=', tenancy.inboxId)
    .execute();
}

/** Begins the quarantine after a deleted inbox. */
export async function vacateAddress(tx: Tx, tenancy: Omit<Tenancy, 'accountId' | 'expiresAt'>, now: number) {
  await tx
    .updateTable('addresses')
    .set({ inbox_id: null, busy_until: now, reserved_until: now + ADDRESS_QUARANTINE_MS })
    .where('address', '=', tenancy.address)
    .where('inbox_id', '=', tenancy.inboxId)
    .execute();
}

export function createAddresses(db: Db): AddressStore {
  return {
    hold: (accountId, address, until, now) =>
      occupy(db, { account_id: accountId, address, inbox_id: null, busy_until: 0, until }, now),
  };
}
