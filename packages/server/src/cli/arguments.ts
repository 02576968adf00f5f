import type { Plans } from '../accounts/plans.ts';
import { HOSTNAME } from '../config/values.ts';
import { isId } from '../ids.ts';

/** Arguments that can be seen to be wrong before the store is asked; its words are for the operator. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

/**
 * A name for people, under the same rules as the API's. One that looks like an account's id is refused: accounts go by both.
 * @throws ArgumentError
 */
export async function readName(text: string): Promise<string> {
  // Not above: these are 400 modules, and a server loads this file too.
  const [{ CreateKey }, { Value }] = await Promise.all([
    import('@mayfly/client/contract'),
    import('typebox/value'),
  ]);
  const name = text.trim();
  if (!Value.Check(CreateKey.properties.name, name)) {
    throw new ArgumentError('a name has 1 to 100 letters and no control characters');
  }
  if (isId('acc', name)) throw new ArgumentError(`${name} is an account's id: as a name it would mislead`);
  return name;
}

/** @throws ArgumentError that lists the plans in force */
export function readPlan(name: string, plans: Plans): string {
  if (plans.names.includes(name)) return name;
  throw new ArgumentError(`no plan is called ${name}; the configured ones: ${plans.names.join(', ')}`);
}

/**
 * A domain in the form in which it is served: as MAYFLY_DOMAINS takes it, and in lower case.
 * @throws ArgumentError
 */
export function readDomain(text: string): string {
  const domain = text.toLowerCase();
  if (HOSTNAME.test(domain)) return domain;
  throw new ArgumentError(
    `${text} is not a domain: letters, digits, hyphens and dots, international ones in their xn-- form`,
  );
}

const MINUTE = 60_000;
const SPANS: Record<string, number> = { m: MINUTE, h: 60 * MINUTE, d: 24 * 60 * MINUTE };
const SPAN = /^(\d{1,5})([mhd])$/;
/** A date alone is its first moment in UTC; a time names its offset (RFC 3339 section 5.6). */
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/i;

function readDateTime(text: string): number {
  const date = DATE_TIME.exec(text)?.[1];
  const day = Date.parse(`${date}T00:00:00Z`);
  // JavaScript takes the 30th of February for the 2nd of March.
  const exists = !Number.isNaN(day) && new Date(day).toISOString().startsWith(`${date}T`);
  return exists ? Date.parse(text.toUpperCase()) : Number.NaN;
}

/**
 * A time to come: `90d`, `12h`, `30m` from now, a date, or a date with time and offset.
 * @returns epoch milliseconds
 * @throws ArgumentError
 */
export function readFuture(text: string, now: number): number {
  const [, count = '', unit = ''] = SPAN.exec(text) ?? [];
  const at = unit === '' ? readDateTime(text) : now + Number(count) * (SPANS[unit] ?? Number.NaN);
  if (Number.isNaN(at)) {
    throw new ArgumentError(`${text} is not a time: 90d, 12h, 30m, 2027-01-31, or 2027-01-31T12:00:00Z`);
  }
  if (at <= now)
    throw new ArgumentError(`${text} is not in the future (now: ${new Date(now).toISOString()})`);
  return at;
}
