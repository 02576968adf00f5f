import { createRequire } from 'node:module';
import type { Problem } from '@mayfly/client/contract';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { AppError, codeOf, type ErrorDetails } from '../../errors.ts';
import type { App, HttpDeps } from '../context.ts';
import { CONNECTION_LIMITS, MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_PARAMETER } from '../limits.ts';
import { hasBody, unsupportedMediaType } from '../request/inputs.ts';
import { type RequestPart, type SchemaError, toInvalidRequest } from '../request/invalid-fields.ts';
import { type KnownPaths, nothingThere } from '../request/paths.ts';
import { toTime } from './time.ts';

export type ProblemCode = Problem['code'];

const STATUS: Record<ProblemCode, number> = {
  invalid_request: 400,
  invalid_since: 400,
  malformed_json: 400,
  unauthorized: 401,
  insufficient_scope: 403,
  cross_site_request: 403,
  not_found: 404,
  unknown_recipient: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  address_taken: 409,
  idempotency_in_progress: 409,
  inbox_full: 409,
  last_key: 409,
  limit_reached: 409,
  permanent_inbox: 409,
  webhook_disabled: 409,
  inbox_expired: 410,
  message_too_large: 413,
  payload_too_large: 413,
  unsupported_media_type: 415,
  range_not_satisfiable: 416,
  idempotency_key_reused: 422,
  malformed_message: 422,
  malformed_recording: 422,
  webhook_url_refused: 422,
  rate_limited: 429,
  quota_exceeded: 429,
  headers_too_large: 431,
  internal_error: 500,
  unavailable: 503,
  storage_damaged: 503,
  server_stopping: 503,
};

export const PROBLEM_TYPE = 'application/problem+json';
const UNAVAILABLE_RETRY_SECONDS = 2;
/** The text of an unexpected error may contain anything, so it is only logged. */
export const INTERNAL_ERROR =
  'The server failed to process the request. The log of the server has the cause under this request id.';

export const statusOf = (code: ProblemCode): number => STATUS[code];

function titleOf(code: string): string {
  const words = code.replaceAll('_', ' ').replaceAll(/\b(json|url)\b/g, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** A problem document (RFC 9457). */
export function problem(code: ProblemCode, detail: string, requestId: string): Problem {
  return {
    type: `urn:problem-type:mayfly:${code}`,
    title: titleOf(code),
    status: STATUS[code],
    detail,
    code,
    requestId,
  };
}

function headersOf(code: ProblemCode, details: ErrorDetails): Record<string, string> {
  const { retryAfterSeconds, allow, acceptEncoding, contentRange } = details;
  const headers: Record<string, string> = { 'cache-control': 'no-store', 'content-type': PROBLEM_TYPE };
  if (code === 'unauthorized') headers['www-authenticate'] = 'Bearer';
  if (code === 'insufficient_scope') headers['www-authenticate'] = 'Bearer error="insufficient_scope"';
  if (allow) headers.allow = allow.join(', ');
  if (acceptEncoding !== undefined) headers['accept-encoding'] = acceptEncoding;
  if (contentRange !== undefined) headers['content-range'] = contentRange;
  const retryAfter = retryAfterSeconds ?? (code === 'unavailable' ? UNAVAILABLE_RETRY_SECONDS : undefined);
  if (retryAfter !== undefined) headers['retry-after'] = String(Math.ceil(retryAfter));
  return headers;
}

type ErrorRequest = Pick<FastifyRequest, 'headers' | 'routeOptions'>;

const FASTIFY: Record<string, [ProblemCode & AppError['code'], string]> = {
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'invalid_request',
    'The body does not have the length that the Content-Length header states.',
  ],
  FST_ERR_MAX_PARAM_LENGTH: [
    'not_found',
    `The path has a part of more than ${MAX_PARAMETER} characters. No id is that long.`,
  ],
  FST_ERR_BAD_URL: [
    'invalid_request',
    'The path is not valid: a percent sign must be followed by two hex digits.',
  ],
};

/** @returns undefined for an unexpected error, whose text must not be sent to the client */
export function toAppError(error: unknown, request?: ErrorRequest): AppError | undefined {
  if (error instanceof AppError) return error;
  if (!(error instanceof Error)) return undefined;
  if ('validation' in error) {
    const { validation, validationContext = 'querystring' } = error as FastifyError;
    return toInvalidRequest((validation ?? []) as SchemaError[], validationContext as RequestPart);
  }
  const code = codeOf(error);
  const { config, bodyLimit = MAX_BODY_BYTES } = request?.routeOptions ?? {};
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return unsupportedMediaType(request?.headers['content-type'], config?.accepts ?? ['application/json']);
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const message = `The body is larger than ${bodyLimit} bytes, the limit of this operation. Send a smaller one.`;
    return new AppError('payload_too_large', message);
  }
  const known = FASTIFY[code];
  if (known) return new AppError(...known);
  const { statusCode = 0 } = error as FastifyError;
  if (!code.startsWith('FST_') || statusCode < 400 || statusCode >= 500) return undefined;
  return new AppError('invalid_request', 'The request could not be read. The API is described at /docs.');
}

const isAborted = (request: FastifyRequest): boolean =>
  request.raw.destroyed && !request.raw.complete && hasBody(request);

export function sendError({ log }: Pick<HttpDeps, 'log'>, error: unknown, reply: FastifyReply): void {
  const { request } = reply;
  const expected = toAppError(error, request);
  if (!expected) {
    const cause = { requestId: request.id, err: error };
    if (isAborted(request)) log.debug(cause, 'The client disconnected before its request was complete');
    else log.error(cause, 'A request failed');
  }
  const { message, details } = expected ?? { message: INTERNAL_ERROR, details: {} as ErrorDetails };
  // Clients handle `outcome_unknown` like `unavailable`, so both have the same code.
  const known = expected?.code === 'outcome_unknown' ? 'unavailable' : expected?.code;
  const code = known ?? 'internal_error';
  const { errors, expiredAt } = details;
  const body: Problem = {
    ...problem(code, message, request.id),
    ...(errors && { errors }),
    ...(expiredAt !== undefined && { expiredAt: toTime(expiredAt) }),
  };
  reply
    .code(STATUS[code])
    .headers(headersOf(code, details))
    .removeHeader('etag')
    // Bytes, because Fastify adds a charset to text, and JSON has none (RFC 8259 section 11).
    .send(Buffer.from(JSON.stringify(body)));
}

export function respondWithErrors(app: App, deps: HttpDeps, known: KnownPaths): void {
  app.setSerializerCompiler(() => JSON.stringify);
  app.setErrorHandler((error, _request, reply) => sendError(deps, error, reply));
  app.setNotFoundHandler((request) => {
    throw nothingThere(request, known);
  });
}

// Not by `import`, which also loads Node's fetch: 2 MB.
const { STATUS_CODES } = createRequire(import.meta.url)('node:http') as typeof import('node:http');

/** Problems by error code of Node's HTTP parser, or by a name for another reason to close a connection. */
const PARSE_CODES: Record<string, [ProblemCode, string]> = {
  CONNECT: ['not_found', 'This server is not a proxy: it does not support CONNECT.'],
  HPE_HEADER_OVERFLOW: [
    'headers_too_large',
    `The request line and headers are larger than ${MAX_HEADER_BYTES} bytes, the limit. Send fewer or shorter ones.`,
  ],
  ERR_HTTP_REQUEST_TIMEOUT: [
    'request_timeout',
    `The request did not arrive in time: its headers within a few seconds, all of it within ${CONNECTION_LIMITS.requestTimeoutMs / 1_000} seconds. Send it again.`,
  ],
  TOO_MANY_FROM_ADDRESS: [
    'rate_limited',
    'Your address has as many connections open as one address may have on this server (MAYFLY_HTTP_MAX_CONNECTIONS_PER_ADDRESS), all with requests in progress. Retry after 1 second.',
  ],
  TOO_MANY_CONNECTIONS: [
    'unavailable',
    'The server has as many connections open as it may have, all with requests in progress. Retry after 1 second.',
  ],
};

/** A whole HTTP response, for sockets without a response object. */
export function rawProblem(errorCode: string | undefined, requestId: string): string {
  const [code, detail] = PARSE_CODES[errorCode ?? ''] ?? [
    'invalid_request',
    'The request is not valid HTTP/1.1.',
  ];
  const body = JSON.stringify(problem(code, detail, requestId));
  const status = STATUS[code];
  return [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    `Content-Type: ${PROBLEM_TYPE}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    ...(status === 429 || status === 503 ? ['Retry-After: 1'] : []),
    'Connection: close',
    '',
    body,
  ].join('\r\n');
}
