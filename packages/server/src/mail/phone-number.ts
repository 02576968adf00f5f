import { randomInt } from 'node:crypto';

/** Of large cities in the United States; with 9,998 numbers each enough for 400,000 inboxes. */
export const AREA_CODES = [
  ...['202', '206', '212', '213', '214', '215', '216', '303', '305', '312', '313', '314', '317', '402'],
  ...['404', '408', '410', '412', '414', '415', '501', '502', '503', '504', '505', '512', '515', '602'],
  ...['612', '614', '615', '617', '702', '713', '801', '804', '808', '816', '901', '916'],
] as const;

/** Lines of the exchange 555 with a subscriber, such as directory assistance. No other line of it is in service. */
const ASSIGNED: ReadonlySet<string> = new Set(['1212', '4334']);

const LINES = 10_000;

/** A random telephone number that nobody has, without its plus: a local part. */
export function newPhoneLocalPart(): string {
  for (;;) {
    const line = String(randomInt(LINES)).padStart(4, '0');
    if (!ASSIGNED.has(line)) return `1${AREA_CODES[randomInt(AREA_CODES.length)]}555${line}`;
  }
}

/** The telephone number that a local part is (E.164), if it is one. */
export const phoneNumberOf = (localPart: string): string | null =>
  /^[1-9]\d{6,14}$/.test(localPart) ? `+${localPart}` : null;
