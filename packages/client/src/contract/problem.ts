import { type Static, Type } from 'typebox';

/** Every `code` of a problem. Codes are added but never removed. */
export const PROBLEM_CODES = [
  'invalid_request',
  'invalid_since',
  'malformed_json',
  'unauthorized',
  'insufficient_scope',
  'cross_site_request',
  'not_found',
  'method_not_allowed',
  'address_taken',
  'idempotency_in_progress',
  'idempotency_key_reused',
  'inbox_expired',
  'inbox_full',
  'last_key',
  'limit_reached',
  'permanent_inbox',
  'message_too_large',
  'payload_too_large',
  'unsupported_media_type',
  'malformed_message',
  'malformed_recording',
  'unknown_recipient',
  'webhook_disabled',
  'webhook_url_refused',
  'rate_limited',
  'quota_exceeded',
  'unavailable',
  'storage_damaged',
  'server_stopping',
  'range_not_satisfiable',
  'request_timeout',
  'headers_too_large',
  'internal_error',
] as const;

/** An error in one field of the request. */
export const ProblemField = Type.Object(
  {
    path: Type.String({
      description: "JSON pointer into the body, or a parameter's name.",
      examples: ['/ttlMinutes'],
    }),
    message: Type.String({
      description: 'What is wrong there and what is right.',
      examples: ['"ttl" is not a known field. Did you mean "ttlMinutes"?'],
    }),
  },
  { $id: 'ProblemField', description: 'One invalid place of the request.' },
);
export type ProblemField = Static<typeof ProblemField>;

/** The body of every error response (RFC 9457). */
export const Problem = Type.Object(
  {
    type: Type.String({
      description: 'URI of the kind of problem.',
      examples: ['urn:problem-type:mayfly:invalid_request'],
    }),
    title: Type.String({
      description: 'The kind of problem in words; the same for all problems of a kind.',
      examples: ['Invalid request'],
    }),
    status: Type.Integer({ description: 'The HTTP status.', examples: [400] }),
    detail: Type.String({
      description: 'What was wrong with this request and what to do next, for people.',
      examples: ['"ttl" is not a known field. Did you mean "ttlMinutes"?'],
    }),
    code: Type.Enum([...PROBLEM_CODES], { description: 'The kind of problem, for programs to branch on.' }),
    requestId: Type.String({
      description: 'Identifier of the request, also in `X-Request-Id` and in the log of the server.',
    }),
    errors: Type.Optional(
      Type.Array(Type.Unsafe<ProblemField>({ $ref: 'ProblemField#' }), {
        description: 'The invalid places of an invalid request, at most 20.',
      }),
    ),
    expiredAt: Type.Optional(
      Type.String({ description: 'When the inbox expired (`inbox_expired`).', format: 'date-time' }),
    ),
  },
  { $id: 'Problem', description: 'Why a request failed (RFC 9457).' },
);
export type Problem = Static<typeof Problem>;
