import { AppError } from '../../../errors.ts';
import { domainOf } from '../../../mail/address.ts';
import { quoted } from '../../../text/nearest.ts';
import type { AddressStore, InboxKind } from '../../contract/index.ts';
import { ADDRESS_QUARANTINE_MS } from '../../contract/retention.ts';
import type { Engine, Tx } from '../engine.ts';

/**
 * An entry of the table for all addresses of a domain that no inbox has as its own. No address has this
 * form, so the same statements reserve and release it.
 */
export const allOfDomain = (domain: string): string => `@${domain}`;
/** The entry for all addresses of all domains. */
export const EVERYTHING = '@';

/** All entries that an inbox with this address may have. */
const placesOf = (address: string): string[] => [address, allOfDomain(domainOf(address)), EVERYTHING];

/** What an entry says of its inbox. */
interface Tenancy {
  accountId: string;
  address: string;
  inboxId: string;
  expiresAt: number;
}

/**
 * Takes or holds an address if no live inbox has it and no other account has it reserved, by a hold or by
 * the quarantine after an inbox. One statement checks and writes.
 */
async function occupy(
  tx: Tx,
  row: { account_id: string; address: string; inbox_id: string | null; busy_until: number; until: number },
  now: number,
): Promise<boolean> {
  const { until, ...occupant } = row;
  const taken = await tx
    .insertInto('addresses')
    .values({ ...occupant, reserved_until: until })
    .onConflict((conflict) =>
      conflict
        .column('address')
        .doUpdateSet((row) => ({
          account_id: row.ref('excluded.account_id'),
          inbox_id: row.ref('excluded.inbox_id'),
          busy_until: row.ref('excluded.busy_until'),
          // A later reservation of the same account stays: a hold of minutes must not end a quarantine of days.
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

/**
 * Takes the entries of a new inbox: its address, and those of its kind.
 * @throws AppError `address_taken` if one of them is not free for the account
 */
export async function claimAddress(tx: Tx, tenancy: Tenancy, kind: InboxKind, now: number): Promise<void> {
  const { accountId, address, inboxId, expiresAt } = tenancy;
  const until = expiresAt + ADDRESS_QUARANTINE_MS;
  const claim = (place: string): Promise<boolean> =>
    occupy(
      tx,
      { account_id: accountId, address: place, inbox_id: inboxId, busy_until: expiresAt, until },
      now,
    );
  if (kind === 'sink' && !(await claim(EVERYTHING))) {
    throw new AppError('address_taken', 'There is a sink already. Delete it first.');
  }
  const domain = domainOf(address);
  if (kind === 'catch-all' && !(await claim(allOfDomain(domain)))) {
    throw new AppError(
      'address_taken',
      `The domain ${quoted(domain)} has a catch-all inbox already, or another account had one within the last 7 days. Delete that inbox, or choose another domain.`,
    );
  }
  if (!(await claim(address))) {
    throw new AppError(
      'address_taken',
      `The address ${quoted(address)} is taken. Choose another one, or omit "address" and "localPart" to get a random one.`,
    );
  }
}

/** Moves the end of an inbox's entries with its expiry. @returns false if its address is not its own any more */
export async function moveAddressEnd(tx: Tx, tenancy: Omit<Tenancy, 'accountId'>): Promise<boolean> {
  const moved = await tx
    .updateTable('addresses')
    .set({ busy_until: tenancy.expiresAt, reserved_until: tenancy.expiresAt + ADDRESS_QUARANTINE_MS })
    .where('address', 'in', placesOf(tenancy.address))
    .where('inbox_id', '=', tenancy.inboxId)
    .returning('address')
    .execute();
  return moved.some(({ address }) => address === tenancy.address);
}

/** Begins the quarantine after deleted inboxes. The sink's own entry is free at once, for a new sink. */
export async function vacateAddresses(
  tx: Tx,
  inboxes: readonly { id: string; address: string }[],
  now: number,
): Promise<void> {
  if (inboxes.length === 0) return;
  const ids = inboxes.map(({ id }) => id);
  await tx.deleteFrom('addresses').where('address', '=', EVERYTHING).where('inbox_id', 'in', ids).execute();
  const places = new Set(inboxes.flatMap(({ address }) => placesOf(address)));
  await tx
    .updateTable('addresses')
    .set({ inbox_id: null, busy_until: now, reserved_until: now + ADDRESS_QUARANTINE_MS })
    .where('address', 'in', [...places])
    .where('inbox_id', 'in', ids)
    .execute();
}

export function createAddresses({ transaction }: Engine): AddressStore {
  return {
    hold: (accountId, address, until, now) =>
      transaction((tx) =>
        occupy(tx, { account_id: accountId, address, inbox_id: null, busy_until: 0, until }, now),
      ),
  };
}
