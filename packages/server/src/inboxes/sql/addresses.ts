import { anyOf, sql, type Tx, write } from '../../database/sql.ts';
import { AppError } from '../../errors.ts';
import { domainOf } from '../../mail/address.ts';
import { quoted } from '../../text/nearest.ts';
import { ADDRESS_QUARANTINE_MS, type InboxKind } from '../records.ts';

/** Key in the table `addresses` for a catch-all inbox: all addresses of a domain that no other inbox has. */
export const allOfDomain = (domain: string): string => `@${domain}`;
/** Key in the table `addresses` for the sink: all addresses that no other inbox takes. */
export const EVERYTHING = '@';

const placesOf = (address: string): string[] => [address, allOfDomain(domainOf(address)), EVERYTHING];

interface Tenancy {
  accountId: string;
  address: string;
  inboxId: string;
  expiresAt: number;
}

interface Entry {
  address: string;
  accountId: string;
  inboxId: string | null;
  busyUntil: number;
  until: number;
}

/** @returns false if a live inbox has the address, or another account has reserved it */
async function occupy(tx: Tx, { address, accountId, inboxId, busyUntil, until }: Entry, now: number) {
  // Keep the later `reserved_until`: a reservation of minutes must not shorten the quarantine of 7 days.
  const taken = await tx.run(
    sql`insert into addresses (address, account_id, inbox_id, busy_until, reserved_until)
      values (${address}, ${accountId}, ${inboxId}, ${busyUntil}, ${until})
      on conflict (address) do update set account_id = excluded.account_id, inbox_id = excluded.inbox_id,
        busy_until = excluded.busy_until,
        reserved_until = case when addresses.account_id = excluded.account_id
          and addresses.reserved_until > excluded.reserved_until
          then addresses.reserved_until else excluded.reserved_until end
      where addresses.busy_until <= ${now}
        and (addresses.reserved_until <= ${now} or addresses.account_id = excluded.account_id)`,
  );
  return taken > 0;
}

/** Claims an address, and the table key of a catch-all inbox or sink. @throws AppError `address_taken` */
export async function claimAddress(tx: Tx, tenancy: Tenancy, kind: InboxKind, now: number): Promise<void> {
  const { accountId, address, inboxId, expiresAt: busyUntil } = tenancy;
  const until = busyUntil + ADDRESS_QUARANTINE_MS;
  const claim = (place: string): Promise<boolean> =>
    occupy(tx, { address: place, accountId, inboxId, busyUntil, until }, now);
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

/** Sets when an inbox loses its address and the quarantine begins. @returns false if it already lost it */
export async function moveAddressEnd(tx: Tx, tenancy: Omit<Tenancy, 'accountId'>): Promise<boolean> {
  const { address, inboxId, expiresAt } = tenancy;
  const moved = await tx.all<{ address: string }>(
    sql`update addresses set busy_until = ${expiresAt}, reserved_until = ${expiresAt + ADDRESS_QUARANTINE_MS}
      where address ${anyOf(placesOf(address))} and inbox_id = ${inboxId} returning address`,
  );
  return moved.some((entry) => entry.address === address);
}

/** Starts the quarantine of addresses of deleted inboxes. A deleted sink can be replaced at once. */
export async function vacateAddresses(tx: Tx, inboxes: { id: string; address: string }[], now: number) {
  if (inboxes.length === 0) return;
  const ids = inboxes.map(({ id }) => id);
  await tx.run(sql`delete from addresses where address = ${EVERYTHING} and inbox_id ${anyOf(ids)}`);
  const places = new Set(inboxes.flatMap(({ address }) => placesOf(address)));
  await tx.run(
    sql`update addresses set inbox_id = null, busy_until = ${now}, reserved_until = ${now + ADDRESS_QUARANTINE_MS}
      where address ${anyOf([...places])} and inbox_id ${anyOf(ids)}`,
  );
}

export const addresses = {
  hold: write((tx, accountId: string, address: string, until: number, now: number) =>
    occupy(tx, { address, accountId, inboxId: null, busyUntil: 0, until }, now),
  ),
};
