import { createHash } from 'node:crypto';
import { type Given, isGiven, NamedRefusal, parseJson } from '../given.ts';
import type { Call, Reply } from '../provider.ts';
import { invalid } from './errors.ts';

/** @throws NamedRefusal unless the body is a JSON object */
export function bodyOf(body: Uint8Array): Given {
  const value = parseJson(body);
  if (isGiven(value)) return value;
  throw invalid('The request body must be a JSON object.');
}

interface Row {
  id: string;
  created_at: string;
}

const [DEFAULT_LIMIT, MAX_LIMIT] = [20, 100];

/** A page of a list, newest first, with `limit` and the cursors `after` and `before`. */
export function page<T extends Row>(rows: readonly T[], query: URLSearchParams, shown: (row: T) => object) {
  const [after, before] = [query.get('after'), query.get('before')];
  const limit = Number(query.get('limit') ?? DEFAULT_LIMIT);
  if (!Number.isInteger(limit) || limit < 1 || limit > MAX_LIMIT)
    throw invalid(`The \`limit\` parameter must be between 1 and ${MAX_LIMIT}.`);
  const sorted = rows.toSorted(
    (a, b) => b.created_at.localeCompare(a.created_at) || b.id.localeCompare(a.id),
  );
  const cursor = sorted.findIndex(({ id }) => id === (after ?? before));
  if ((after ?? before) !== null && cursor < 0) throw invalid('The cursor is not the id of an item.');
  const rest = before === null ? sorted.slice(cursor + 1) : sorted.slice(0, cursor);
  const data = before === null ? rest.slice(0, limit) : rest.slice(-limit);
  return { object: 'list', has_more: rest.length > data.length, data: data.map(shown) };
}

interface Reservation {
  /** Hash of the request. */
  hash: string;
  at: number;
  reply?: Reply;
}

const MAX_KEY_LENGTH = 256;
/** After this time a request without a result is considered lost, as after a crash; milliseconds. */
const RESERVED_MS = 60_000;

/** Executes a request once per `Idempotency-Key`. @throws NamedRefusal 409 if the key was used for another request */
export async function once(call: Call, answer: () => Promise<Reply>): Promise<Reply> {
  const { mailroom, headers, body } = call;
  const key = headers['idempotency-key'];
  if (key === undefined) return answer();
  if (key.length < 1 || key.length > MAX_KEY_LENGTH)
    throw new NamedRefusal(400, 'invalid_idempotency_key', 'The key must be between 1-256 chars.');
  const reservation: Reservation = {
    hash: createHash('sha256').update(body).digest('hex'),
    at: mailroom.now(),
  };
  const before = (await mailroom.keepFirst('idempotency', key, reservation)) as Reservation | undefined;
  if (before && before.hash !== reservation.hash)
    throw new NamedRefusal(
      ...([409, 'invalid_idempotent_request'] as const),
      'Same idempotency key used with a different request payload.',
    );
  if (before?.reply) return before.reply;
  if (before && before.at > mailroom.now() - RESERVED_MS)
    throw new NamedRefusal(
      ...([409, 'concurrent_idempotent_requests'] as const),
      'Same idempotency key used while original request is still in progress.',
    );
  try {
    const reply = await answer();
    await mailroom.keep('idempotency', key, { ...reservation, reply });
    return reply;
  } catch (error) {
    await mailroom.keep('idempotency', key, null);
    throw error;
  }
}
