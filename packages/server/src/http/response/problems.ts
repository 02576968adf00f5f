import type { Problem } from '@mayfly/client/contract';
import type { FastifyError, FastifyReply } from 'fastify';
import { AppError, type ErrorCode } from '../../errors.ts';
import { type SchemaError, toFieldErrors } from '../request/invalid-fields.ts';
import { toTime } from './time.ts';

/** What only HTTP knows: the core never throws these. */
type HttpCode = 'range_not_satisfiable' | 'request_timeout' | 'headers_too_large' | 'internal_error';
export type ProblemCode = ErrorCode | HttpCode;

const STATUS: Record<ProblemCode, number> = {
  invalid_request: 400,
  invalid_since: 400,
  malformed_json: 400,
  unauthorized: 401,
  insufficient_scope: 403,
  not_found: 404,
  unknown_recipient: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  address_taken: 409,
  idempotency_in_progress: 409,
  inbox_full: 409,
  last_key: 409,
  limit_reached: 409,
  webhook_disabled: 409,
  inbox_expired: 410,
  message_too_large: 413,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  idempotency_key_reused: 422,
  malformed_message: 422,
  webhook_url_refused: 422,
  rate_limited: 429,
  quota_exceeded: 429,
  headers_too_large: 431,
  internal_error: 500,
  unavailable: 503,
};

export const PROBLEM_TYPE = 'application/problem+json';
/** After a storage failure: soon enough for a test, late enough for a disk to answer again. */
const UNAVAILABLE_RETRY_SECONDS = 2;

/** An answer that is not a success, ready to be written. */
export interface ProblemAnswer {
  status: number;
  headers: Record<string, string>;
  body: Problem;
}

function sentence(code: string): string {
  const words = code.replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The problem document (RFC 9457) of a code, without the headers that only some have. */
export function problem(code: ProblemCode, detail: string, requestId: string): Problem {
  return {
    type: `urn:problem-type:mayfly:${code}`,
    title: sentence(code),
    status: STATUS[code],
    detail,
    code,
    requestId,
  };
}

/** The one place where an {@link AppError} becomes a status, headers and a problem document. */
export function toProblem(error: AppError, requestId: string): ProblemAnswer {
  const { errors, expiredAt, retryAfterSeconds, allow } = error.details;
  const headers: Record<string, string> = {};
  if (error.code === 'unauthorized') headers['www-authenticate'] = 'Bearer';
  if (error.code === 'insufficient_scope') headers['www-authenticate'] = 'Bearer error="insufficient_scope"';
  if (allow) headers.allow = allow.join(', ');
  const retryAfter =
    retryAfterSeconds ?? (error.code === 'unavailable' ? UNAVAILABLE_RETRY_SECONDS : undefined);
  if (retryAfter !== undefined) headers['retry-after'] = String(Math.ceil(retryAfter));
  return {
    status: STATUS[error.code],
    headers,
    body: {
      ...problem(error.code, error.message, requestId),
      ...(errors ? { errors } : {}),
      ...(expiredAt === undefined ? {} : { expiredAt: toTime(expiredAt) }),
    },
  };
}

/** Writes it. As bytes, since Fastify adds a charset to text, and JSON has none (RFC 8259 section 11). */
export function sendProblem(reply: FastifyReply, { status, headers, body }: ProblemAnswer): FastifyReply {
  return reply
    .code(status)
    .headers({ ...headers, 'cache-control': 'no-store', 'content-type': PROBLEM_TYPE })
    .removeHeader('etag')
    .send(Buffer.from(JSON.stringify(body)));
}

function invalidRequest(error: FastifyError): AppError {
  const where = error.validationContext === 'body' ? 'body' : 'parameters';
  const errors = toFieldErrors((error.validation ?? []) as SchemaError[], where);
  const detail = errors.map(({ path, message }) => `${path || 'the body'} ${message}`).join('; ');
  return new AppError('invalid_request', detail, { errors });
}

/** What Fastify itself refuses, in our words. */
const FASTIFY: Record<string, (error: FastifyError) => AppError> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new AppError('unsupported_media_type', 'the body must be application/json'),
  FST_ERR_CTP_BODY_TOO_LARGE: () => new AppError('payload_too_large', 'the body is too large'),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () =>
    new AppError('invalid_request', 'the body is not as long as Content-Length says'),
  // As any unknown id.
  FST_ERR_MAX_PARAM_LENGTH: () => new AppError('not_found', 'there is nothing at this path'),
  FST_ERR_BAD_URL: () => new AppError('invalid_request', 'the path is not a valid URL path'),
};

const isFastifyError = (error: unknown): error is FastifyError =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  error.code.startsWith('FST_');

/** An error that the caller is meant to read; undefined for a defect. */
export function toAppError(error: unknown): AppError | undefined {
  if (error instanceof AppError) return error;
  if (!(error instanceof Error)) return undefined;
  if ('validation' in error) return invalidRequest(error as FastifyError);
  if (!isFastifyError(error)) return undefined;
  const known = FASTIFY[error.code];
  if (known) return known(error);
  const clients = error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500;
  return clients ? new AppError('invalid_request', 'the request could not be read') : undefined;
}

/** By the code of the parser's error, and for the one method that is no request for a path. */
/** RFC 9110 section 15.5, RFC 6585 section 5. Not from `node:http`: to import that loads Node's fetch, 2 MB. */
const REASONS: Record<number, string> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};

const PARSE_CODES: Record<string, [ProblemCode, string]> = {
  CONNECT: ['not_found', 'this is no proxy: it connects to nothing'],
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'the headers are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'the request did not arrive in time'],
};

/** A whole HTTP answer as text, for a connection without a request: it could not be parsed, or is CONNECT. */
export function rawProblem(errorCode: string | undefined, requestId: string): string {
  const [code, detail] = PARSE_CODES[errorCode ?? ''] ?? [
    'invalid_request',
    'this is not a valid HTTP request',
  ];
  const body = JSON.stringify(problem(code, detail, requestId));
  const status = STATUS[code];
  return [
    `HTTP/1.1 ${status} ${REASONS[status]}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
