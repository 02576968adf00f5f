import { AppError, codeOf, messageOf } from '../../errors.ts';
import { DAMAGED_PAGE, damaged, unavailable } from '../failures.ts';

export class StandbyError extends Error {
  constructor() {
    super('The PostgreSQL server is a standby. Give the address of the primary in MAYFLY_DATABASE_URL.');
  }
}

/** State of the storage by the class of an SQLSTATE (PostgreSQL manual, appendix A). */
const STATES_BY_CLASS: Readonly<Record<string, string>> = {
  '08': 'unreachable',
  '28': 'refusing the credentials of MAYFLY_DATABASE_URL',
  '53': 'full or out of resources',
  '57': 'shutting down, or a statement took too long',
  '58': 'failing: an input or output error',
  XX: 'failing: an internal error',
};
const STATES: Readonly<Record<string, string>> = {
  '25006': 'read-only',
  '3D000': 'missing: there is no such database',
  '40001': 'busy: transactions are in each other’s way',
  '40P01': 'busy: transactions are in each other’s way',
  '53100': 'full',
  '55P03': 'busy: a row stayed locked',
};
/** SQLSTATE of data_corrupted and index_corrupted. */
const DAMAGED = /^XX00[12]$/;
const UNREACHABLE =
  /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/;
const CLOSED_TEXT = /connection (terminated|ended)|not queryable|client was closed/i;
const NO_ANSWER_TEXT = /timeout (exceeded|expired)|read timeout|after calling end/i;

const SERIALIZATION_FAILURE = '40001';
const DEADLOCK = '40P01';
const LOCK_NOT_AVAILABLE = '55P03';

const stateOf = (error: unknown): string =>
  error instanceof AppError ? stateOf(error.cause) : codeOf(error);

export const isConflict = (error: unknown): boolean =>
  [SERIALIZATION_FAILURE, DEADLOCK].includes(stateOf(error));

export const isLocked = (error: unknown): boolean => stateOf(error) === LOCK_NOT_AVAILABLE;

/** True if the error has an SQLSTATE, so PostgreSQL rolled back. EPIPE only looks like an SQLSTATE. */
export const isOfStatement = (error: unknown): boolean =>
  /^[0-9A-Z]{5}$/.test(stateOf(error)) && !UNREACHABLE.test(stateOf(error));

export function toUnavailable(error: unknown): AppError | undefined {
  if (error instanceof AppError || !(error instanceof Error)) return undefined;
  const code = stateOf(error);
  if (DAMAGED.test(code)) return damaged(DAMAGED_PAGE, error);
  const state = STATES[code] ?? (/^[0-9A-Z]{5}$/.test(code) ? STATES_BY_CLASS[code.slice(0, 2)] : undefined);
  if (state !== undefined) return unavailable(state, error);
  if (error instanceof StandbyError) return unavailable('without a primary', error);
  if (NO_ANSWER_TEXT.test(error.message)) return unavailable('overloaded or unreachable', error);
  if (UNREACHABLE.test(code) || CLOSED_TEXT.test(error.message)) return unavailable('unreachable', error);
  return undefined;
}

const WAYS_OUT: readonly (readonly [codesAndMessages: RegExp, wayOut: string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'Correct the host name in MAYFLY_DATABASE_URL, or check the name servers.'],
  [/^ECONNREFUSED$/, 'Start PostgreSQL there, or correct host and port in MAYFLY_DATABASE_URL.'],
  [/^3D000$/, 'Create the database, or correct its name in MAYFLY_DATABASE_URL.'],
  [/^28/, 'Correct the user name and the password in MAYFLY_DATABASE_URL, or allow the user in pg_hba.conf.'],
  [
    /^42501$/,
    'Grant the user the right to create tables in the schema, for example as owner of the database.',
  ],
  [/^53300$/, 'Raise max_connections of PostgreSQL, or end other clients.'],
  [
    /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ECONNRESET)$|connection terminated|timeout (exceeded|expired)/i,
    'Check that PostgreSQL runs there, that MAYFLY_DATABASE_URL names its host and port, and that no firewall is between.',
  ],
];

export function startFailure(error: unknown): Error {
  const message = messageOf(error);
  const texts = [stateOf(error), message];
  const wayOut = WAYS_OUT.find(([pattern]) => texts.some((text) => pattern.test(text)))?.[1];
  const reason = wayOut === undefined ? message : `${message}. ${wayOut}`;
  return new Error(`The PostgreSQL database cannot be used: ${reason}`, { cause: error });
}
