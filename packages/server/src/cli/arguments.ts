import type { Plans } from '../accounts/plans.ts';
import type { AccountRecord } from '../accounts/sql.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../clock.ts';
import type { Config } from '../config/config.ts';
import { HOSTNAME } from '../config/settings.ts';
import { isId } from '../ids.ts';
import { timeOfRfc3339 } from '../messages/cursor.ts';
import type { Store } from '../store.ts';
import { didYouMean, quoted } from '../text/nearest.ts';

export interface Edge {
  env: Record<string, string | undefined>;
  print(text: string): void;
  now(): number;
  /** Reads a line of standard input. At a terminal, prints `question` first. */
  readLine(question: string): Promise<string>;
  onStep(text: string): void;
  openStore(config: Config): Promise<Store>;
}

export interface Context extends Pick<Edge, 'readLine'> {
  store: Store;
  plans: Plans;
  config: Config;
  now: number;
}

/** Converts `work` to the action of a command, which opens the store, calls `work` and prints its result. */
export type Run = <Arguments extends unknown[]>(
  work: (context: Context, ...given: Arguments) => Promise<string>,
) => (...given: Arguments) => Promise<void>;

export const JSON_FLAG = ['--json', 'Print JSON, for scripts'] as const;
export const ACCOUNT = 'Id of the account, or its name if no other account has it';

export interface Json {
  json?: true;
}

export interface OfAccount {
  account?: string;
}

/** Thrown for invalid arguments of a command, before it has changed anything. */
export class ArgumentError extends Error {
  override readonly name = 'ArgumentError';
}

/** Checks a name. It must not have the form of an account id, because commands accept names and ids. */
export async function readName(text: string): Promise<string> {
  // Imported dynamically, because the server loads this file too and does not need these 400 modules.
  const [{ CreateKey }, { Value }] = await Promise.all([
    import('@mayfly/client/contract'),
    import('typebox/value'),
  ]);
  const name = text.trim();
  if (!Value.Check(CreateKey.properties.name, name))
    throw new ArgumentError(
      `${quoted(name)} is not a valid name. Use 1 to 100 characters without control characters.`,
    );
  if (isId('acc', name))
    throw new ArgumentError(`${quoted(name)} has the form of an account id. Use another name.`);
  return name;
}

export function readPlan(name: string, plans: Plans): string {
  if (plans.names.includes(name)) return name;
  throw new ArgumentError(
    `${quoted(name)} is not a plan.${didYouMean(name, plans.names)} The configured plans are ${plans.names.join(', ')}.`,
  );
}

export function readDomain(text: string): string {
  const domain = text.toLowerCase();
  if (HOSTNAME.test(domain)) return domain;
  throw new ArgumentError(
    `${quoted(text)} is not a domain name. Use letters, digits, hyphens and dots; write an international name in its xn-- form.`,
  );
}

const SPANS: Record<string, number> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };
const SPAN = /^(\d{1,5})([mhd])$/;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const MINUTES = /(T\d{2}:\d{2})(?=[Z+-])/i;

/** @param text `90d`, `12h` or `30m` from now, a date (00:00 UTC), or an RFC 3339 time @returns epoch milliseconds */
export function readFuture(text: string, now: number): number {
  const [, count = '', unit = ''] = SPAN.exec(text) ?? [];
  const time = DATE.test(text) ? `${text}T00:00:00Z` : text.replace(MINUTES, '$1:00');
  const at = unit === '' ? timeOfRfc3339(time) : now + Number(count) * (SPANS[unit] ?? 0);
  if (at === undefined)
    throw new ArgumentError(
      `${quoted(text)} is not a time. Use 90d (days), 12h (hours), 30m (minutes), 2027-01-31, or 2027-01-31T12:00:00Z.`,
    );
  if (at <= now)
    throw new ArgumentError(
      `${quoted(text)} is not in the future; it is ${new Date(now).toISOString()} now.`,
    );
  return at;
}

type Accounts = Pick<Store, 'accounts'>;

export async function findAccount(store: Accounts, named: string): Promise<AccountRecord> {
  const byId = isId('acc', named) ? await store.accounts.find(named) : undefined;
  if (byId) return byId;
  const found = (await store.accounts.list()).filter(({ name }) => name === named);
  const [only] = found;
  if (!only)
    throw new Error(
      `No account has the id or name ${quoted(named)}. "mayfly account list" lists all accounts.`,
    );
  if (found.length === 1) return only;
  const ids = found.slice(0, 5).map(({ id }) => id);
  const more = found.length > ids.length ? ', …' : '';
  throw new Error(
    `${found.length} accounts have the name ${quoted(named)}. Use the id instead: ${ids.join(', ')}${more}`,
  );
}

export async function findAccountOrFirst(store: Accounts, named: string | undefined): Promise<AccountRecord> {
  const account = named === undefined ? await store.accounts.findFirst() : await findAccount(store, named);
  if (!account)
    throw new Error('There is no account yet. Start the server once: the first start creates one.');
  return account;
}
