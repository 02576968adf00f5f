import type { Problem } from '@mayfly/client/contract';
import {
  INTERNAL_ERROR,
  PROBLEM_TYPE,
  type ProblemCode,
  problem,
  statusOf,
} from '../../packages/server/src/http/response/problems.ts';
import { type Json, pascalCase, reference } from './schemas.ts';

interface DescribedError {
  meaning: string;
  /** The `detail` of an example; a test compares it with the server's. */
  detail: string;
  /** What only problems of this code have. */
  fields?: Partial<Problem>;
}

const MISSPELT = '"ttlMinute" is not a known field. Did you mean "ttlMinutes"?';
const EXPIRED_AT = '2026-03-04T05:06:07.890Z';

/** What each error means, for all operations. */
const ERRORS: Partial<Record<ProblemCode, DescribedError>> = {
  invalid_request: {
    meaning: 'a field, a parameter or a header is wrong; `errors` names each invalid place.',
    detail: MISSPELT,
    fields: { errors: [{ path: '/ttlMinute', message: MISSPELT }] },
  },
  malformed_json: {
    meaning: 'the body is not JSON.',
    detail:
      'The body is not valid JSON. Expected double-quoted property name in JSON at position 18 (line 1 column 19).',
  },
  invalid_since: {
    meaning: '`since` is neither a cursor nor a time.',
    detail:
      '"since" must be a cursor of this inbox (cur_…), a message id (msg_…), an RFC 3339 time such as 2026-03-04T05:06:07Z, or milliseconds since 1970, not "yesterday".',
  },
  unauthorized: {
    meaning: 'the credential is missing, malformed, unknown, revoked or expired.',
    detail:
      'The Authorization header is missing. Send "Authorization: Bearer CREDENTIAL" with an API key (mfk_…) or the read token of the inbox (mft_…). Programs on the machine of "mayfly dev" send the key "dev". "mayfly serve" writes the first API key to the file first-api-key, and "mayfly key create" creates more.',
  },
  insufficient_scope: {
    meaning:
      'the credential is a read token, or, where something is changed, an API key of the scope `read`.',
    detail: 'A read token can only read its own inbox. Use an API key for this operation.',
  },
  not_found: {
    meaning: 'the id is unknown, or not visible to this credential.',
    detail:
      'No inbox with the id "inb_01kk4m2t9vq8z3w6x5y7c1d2e3" is visible to this credential: it may have been deleted, or have expired more than 24 hours ago. List the inboxes of the account with GET /v1/inboxes.',
  },
  inbox_expired: {
    meaning: 'the inbox expired within the last 24 hours.',
    detail: `The inbox "inb_01kk4m2t9vq8z3w6x5y7c1d2e3" expired at ${EXPIRED_AT}. Create a new one with POST /v1/inboxes; "ttlMinutes" sets its lifetime.`,
    fields: { expiredAt: EXPIRED_AT },
  },
  address_taken: {
    meaning: 'the address belongs to another inbox, or is held for another account.',
    detail:
      'The address "signup-test@mayfly.test" is taken. Choose another one, or omit "address" and "localPart" to get a random one.',
  },
  limit_reached: {
    meaning: 'the account has as many of these as it may have.',
    detail:
      'The account has reached the number of live inboxes that its plan allows (5). Delete one with DELETE /v1/inboxes/{id}, or wait until one expires.',
  },
  idempotency_in_progress: {
    meaning: 'the first request with this key is not answered yet.',
    detail: 'A request with this Idempotency-Key is being processed. Retry after 1 second.',
  },
  idempotency_key_reused: {
    meaning: 'the key was used with another body.',
    detail:
      'This Idempotency-Key was used with another body within the last 24 hours. Use a new key for a new request.',
  },
  inbox_full: {
    meaning: 'the inbox holds as many messages as the plan allows.',
    detail:
      'The inbox holds as many messages as the plan of its account allows. Delete some, or all with DELETE /v1/inboxes/{id}/messages.',
  },
  last_key: {
    meaning: 'the account has no other live key of the scope `full`.',
    detail:
      'This is the last live API key of the account with the scope "full". Create another one with POST /v1/keys first.',
  },
  permanent_inbox: {
    meaning: 'the inbox is the sink.',
    detail:
      'This inbox is the sink, which does not expire and cannot be deleted while it takes mail. Empty it with DELETE /v1/inboxes/{id}/messages, or start the server with MAYFLY_SINK=off and delete it then.',
  },
  webhook_disabled: {
    meaning: 'the webhook is disabled, or its inbox ended.',
    detail:
      'The webhook "whk_01kk4m5c8rq2t5v7w9x1y3z5b7" is disabled. Enable it first: PATCH /v1/webhooks/{id} with {"enabled": true}.',
  },
  webhook_url_refused: {
    meaning: 'the URL is invalid or not allowed.',
    detail:
      'The host name "intranet.example.com" has the address 10.0.0.5, which is not public. Webhooks are sent to public addresses only, unless the operator allows their network with MAYFLY_WEBHOOK_ALLOW, for instance 10.0.0.5/32.',
  },
  message_too_large: {
    meaning: 'a message is larger than the plan allows.',
    detail:
      "The message is larger than 5242880 bytes, the limit of the plan of the inbox's account. Send a smaller one.",
  },
  payload_too_large: {
    meaning: 'the body is larger than the limit of this operation.',
    detail: 'The body is larger than 65536 bytes, the limit of this operation. Send a smaller one.',
  },
  unsupported_media_type: {
    meaning: 'the body has another media type, or a `Content-Encoding`.',
    detail:
      'The Content-Type "text/plain" is not supported. Send the header "Content-Type: application/json".',
  },
  range_not_satisfiable: {
    meaning: 'the range lies outside the attachment.',
    detail: 'The range "bytes=99999-" lies outside the attachment, which has 11534 bytes.',
  },
  malformed_message: {
    meaning: 'the body is empty.',
    detail: 'The body is empty. Send the message, header and body, as its bytes.',
  },
  malformed_recording: {
    meaning: 'the archive is not a recording, or is damaged.',
    detail: 'The archive has no file "inbox.json". Send it as GET /v1/inboxes/{id}/export returned it.',
  },
  rate_limited: {
    meaning:
      'the account exceeded the rate of its plan, holds too many waits and streams, or has too many unread responses.',
    detail:
      'The account exceeded the rate of its plan "free": 2 requests per second, or 10 at once. Retry after 1 second.',
  },
  quota_exceeded: {
    meaning: 'the account exceeded the quota of the month.',
    detail:
      'The account has used all 1000 requests of this month. Retry after 2026-04-01T00:00:00.000Z, when the next month begins, or ask the operator for a larger plan. GET /v1/usage shows the usage and is free.',
  },
  internal_error: { meaning: 'the server failed.', detail: INTERNAL_ERROR },
  unavailable: {
    meaning: 'the storage does not respond, or it is full.',
    detail: 'The storage is full. Retry after 5 seconds.',
  },
  storage_damaged: {
    meaning: 'a part of the storage that the operation needs cannot be read; retrying does not help.',
    detail:
      'A page of the database is damaged. What needs that page cannot be read or changed; all else works. Tell the operator: the log of the server says what to do.',
  },
};

/** Names of responses that carry several codes and are used everywhere; the others are named after their codes. */
const NAMES: Record<string, string> = {
  'invalid_request malformed_json invalid_since': 'InvalidRequest',
  'rate_limited quota_exceeded': 'TooManyRequests',
  'unavailable storage_damaged': 'StorageFails',
};

/** Names of headers that an error of a status has, beside those of all responses. */
const HEADERS: Record<number, string[]> = {
  401: ['WWW-Authenticate'],
  403: ['WWW-Authenticate'],
  416: ['Content-Range'],
  429: ['Retry-After'],
  503: ['Retry-After'],
};

const REQUEST_ID = '0d5c1f7e-3b52-4c0e-9a43-6d0a3f1f2b11';

/** @throws Error for a code that is not described yet */
function described(code: ProblemCode): DescribedError {
  const error = ERRORS[code];
  if (!error) throw new Error(`Describe the error ${code} in scripts/openapi/errors.ts.`);
  return error;
}

function exampleOf(code: ProblemCode): Json {
  const { detail, fields } = described(code);
  const value = { ...problem(code, detail, REQUEST_ID), ...fields };
  return { summary: value.title, value };
}

function responseOf(status: number, codes: readonly ProblemCode[], commonHeaders: readonly string[]): Json {
  const headers = [...(HEADERS[status] ?? []), ...commonHeaders];
  return {
    description: codes.map((code) => `\`${code}\`: ${described(code).meaning}`).join(' '),
    headers: Object.fromEntries(headers.map((name) => [name, reference('headers', name)])),
    content: {
      [PROBLEM_TYPE]: {
        schema: reference('schemas', 'Problem'),
        examples: Object.fromEntries(codes.map((code) => [code, reference('examples', code)])),
      },
    },
  };
}

/** Collects the responses of errors, each combination of codes once, and an example of each code. */
export class ErrorComponents {
  readonly responses: Record<string, Json> = {};
  readonly examples: Record<string, Json> = {};

  /**
   * @param codes of one status
   * @returns the reference to their response
   */
  refer(status: number, codes: readonly ProblemCode[], commonHeaders: readonly string[]): Json {
    const name = NAMES[codes.join(' ')] ?? codes.map(pascalCase).join('Or');
    this.responses[name] ??= responseOf(status, codes, commonHeaders);
    for (const code of codes) this.examples[code] ??= exampleOf(code);
    return reference('responses', name);
  }
}

/** @returns the codes by their status; those that `own` has replace common ones of the same status */
export function byStatus(
  common: readonly ProblemCode[],
  own: readonly ProblemCode[],
): [number, ProblemCode[]][] {
  const statuses = Map.groupBy(own, statusOf);
  const others = common.filter((code) => !statuses.has(statusOf(code)));
  for (const [status, codes] of Map.groupBy(others, statusOf)) statuses.set(status, codes);
  return [...statuses].toSorted(([a], [b]) => a - b);
}
