import { randomInt } from 'node:crypto';

/** Area codes of large cities in the United States; 9,998 numbers each are enough for 400,000 inboxes. */
export const AREA_CODES = [
  ...['202', '206', '212', '213', '214', '215', '216', '303', '305', '312', '313', '314', '317', '402'],
  ...['404', '408', '410', '412', '414', '415', '501', '502', '503', '504', '505', '512', '515', '602'],
  ...['612', '614', '615', '617', '702', '713', '801', '804', '808', '816', '901', '916'],
] as const;

/** Assigned lines of the exchange 555, such as directory assistance. Its other lines are not in service. */
const ASSIGNED: ReadonlySet<string> = new Set(['1212', '4334']);

const LINES = 10_000;

/** A random phone number that is not in service, without its plus sign: a local part. */
export function newPhoneLocalPart(): string {
  for (;;) {
    const line = String(randomInt(LINES)).padStart(4, '0');
    if (!ASSIGNED.has(line)) return `1${AREA_CODES[randomInt(AREA_CODES.length)]}555${line}`;
  }
}

/** The phone number (E.164) of a local part; null for other local parts. */
export const phoneNumberOf = (localPart: string): string | null =>
  /^[1-9]\d{6,14}$/.test(localPart) ? `+${localPart}` : null;
