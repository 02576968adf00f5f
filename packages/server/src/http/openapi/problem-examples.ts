import type { Problem } from '@mayfly/client/contract';
import { BUILT_IN_PLANS } from '../../accounts/plans.ts';
import { AppError, type Kind, notFound } from '../../errors.ts';
import { emptyMessage } from '../../inbound/injection.ts';
import { inboxFull, messageTooLarge } from '../../inbound/recipients.ts';
import { timeOfSince } from '../../messages/cursor.ts';
import { inboxExpired } from '../../messages/live-inbox.ts';
import { quotaExceeded } from '../../quota/usage-meter.ts';
import { rateLimited } from '../access/admission.ts';
import { missingCredential } from '../access/credential.ts';
import { keyReadsOnly, tokenNotEnough } from '../access/guard.ts';
import { permanentInbox } from '../access/permanent-inbox.ts';
import { MAX_BODY_BYTES } from '../limits.ts';
import { toInvalidRequest } from '../request/invalid-fields.ts';
import { parseJsonBody } from '../request/json-body.ts';
import { unexpectedParameter } from '../request/query.ts';
import {
  bodyTooLarge,
  INTERNAL_ERROR,
  type ProblemCode,
  problem,
  toProblem,
  unsupportedMediaType,
} from '../response/problems.ts';

/** What an example needs to know about its operation. */
export interface DescribedOperation {
  /** `/v1/inboxes/{id}`. */
  path: string;
  /** Whether it needs an API key of the scope `full`. */
  writes: boolean;
  /** Names of the fields of its JSON body; null without one. */
  fields: string[] | null;
  /** Names of its query parameters; null when it takes none. */
  parameters: string[] | null;
  /** Media types of its body. */
  accepts: string[];
}

/** The time of all examples, and the ids and addresses that its other examples use. */
const NOW = Date.parse('2026-03-04T05:06:07.890Z');
const REQUEST_ID = '0d5c1f7e-3b52-4c0e-9a43-6d0a3f1f2b11';
const IDS: Record<Kind, string> = {
  inbox: 'inb_01kk4m2t9vq8z3w6x5y7c1d2e3',
  message: 'msg_01kk4m3a8rq2t5v7w9x1y3z5b7',
  attachment: 'att_1',
  webhook: 'whk_01kk4m5c8rq2t5v7w9x1y3z5b7',
  delivery: 'dlv_01kk4m6c8rq2t5v7w9x1y3z5b7',
  key: 'key_01kk4m6d8rq2t5v7w9x1y3z5b7',
  wait: 'wai_01kk4m7d8rq2t5v7w9x1y3z5b7',
};
const FREE_PLAN = { requestsPerSecond: 2, burst: 10 };
const FREE_QUOTA = 1_000;
const NEXT_MONTH = Date.parse('2026-04-01T00:00:00.000Z');

/** The error that a function throws. */
function thrownBy(work: () => unknown): AppError {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('the example of an error did not fail');
}

/** The parameter that stands for `label.NAME=VALUE` in the document. */
export const LABELS = 'labels';

/** A name with a typing error that the server understands. */
const misspelt = (name: string): string => name.slice(0, -1);

function unknownName(names: string[], part: 'body' | 'querystring'): AppError {
  const plain = names.filter((name) => name !== LABELS);
  const parentSchema = {
    properties: Object.fromEntries(plain.map((name) => [name, {}])),
    ...(plain.length < names.length && { patternProperties: { '^label\\.': {} } }),
  };
  const [first] = plain;
  const params = { additionalProperty: first === undefined ? LABELS : misspelt(first) };
  return toInvalidRequest(
    [{ keyword: 'additionalProperties', instancePath: '', params, parentSchema }],
    part,
  );
}

function invalidRequest({ fields, parameters }: DescribedOperation): AppError {
  if (fields) return unknownName(fields, 'body');
  return parameters ? unknownName(parameters, 'querystring') : unexpectedParameter('limit', false);
}

/** The kinds of things that a path names, the last one first. */
function kindsIn(path: string): Kind[] {
  const kinds: Kind[] = [];
  if (path.includes('{attachmentId}')) kinds.push('attachment');
  if (path.includes('{messageId}')) kinds.push('message');
  if (path.includes('{deliveryId}')) kinds.push('delivery');
  if (path.startsWith('/v1/webhooks/{id}')) kinds.push('webhook');
  if (path.startsWith('/v1/keys/{id}')) kinds.push('key');
  return path.startsWith('/v1/inboxes/{id}') || kinds.length === 0 ? [...kinds, 'inbox'] : kinds;
}

/** Errors that only the rules of an operation know; a test compares these texts with those of the server. */
const TEXTS: Partial<Record<ProblemCode, string[]>> = {
  address_taken: [
    'The address "signup-test@mayfly.test" is taken. Choose another one, or omit "address" and "localPart" to get a random one.',
  ],
  idempotency_in_progress: ['A request with this Idempotency-Key is being processed. Retry after 1 second.'],
  idempotency_key_reused: [
    'This Idempotency-Key was used with another body within the last 24 hours. Use a new key for a new request.',
  ],
  last_key: [
    'This is the last live API key of the account with the scope "full". Create another one with POST /v1/keys first.',
  ],
  malformed_recording: [
    'The archive has no file "inbox.json". Send it as GET /v1/inboxes/{id}/export returned it.',
  ],
  webhook_disabled: [
    `The webhook "${IDS.webhook}" is disabled. Enable it first: PATCH /v1/webhooks/{id} with {"enabled": true}.`,
  ],
  webhook_url_refused: [
    'The host name "intranet.example.com" has the address 10.0.0.5, which is not public. Webhooks are sent to public addresses only, unless the operator allows their network with MAYFLY_WEBHOOK_ALLOW, for instance 10.0.0.5/32.',
  ],
  range_not_satisfiable: ['The range "bytes=99999-" lies outside the attachment, which has 11534 bytes.'],
  internal_error: [INTERNAL_ERROR],
  unavailable: ['The storage is full. Retry after 5 seconds.'],
};

/** What an account reached, by the path of the operation that would exceed it. */
const LIMITS: Record<string, string> = {
  '/v1/inboxes':
    'The account has reached the number of live inboxes that its plan allows (5). Delete one with DELETE /v1/inboxes/{id}, or wait until one expires.',
  '/v1/webhooks':
    'The account has reached the number of webhooks that its plan allows (50), those of single inboxes included. Delete one with DELETE /v1/webhooks/{id}.',
  '/v1/keys':
    'The account has reached the limit of 1000 API keys. Revoke one with DELETE /v1/keys/{id} or "mayfly key revoke".',
};

/** Errors that the server makes with the functions used here. */
const MADE: Partial<Record<ProblemCode, (operation: DescribedOperation) => AppError[]>> = {
  invalid_request: (operation) => [invalidRequest(operation)],
  malformed_json: () => [
    thrownBy(() => parseJsonBody(new TextEncoder().encode('{"ttlMinutes": 60, "domain": }'))),
  ],
  invalid_since: () => [thrownBy(() => timeOfSince(IDS.inbox, 'yesterday'))],
  unauthorized: () => [missingCredential()],
  insufficient_scope: ({ writes }) => (writes ? [tokenNotEnough(), keyReadsOnly()] : [tokenNotEnough()]),
  not_found: ({ path }) => kindsIn(path).map((kind) => notFound(kind, IDS[kind])),
  inbox_expired: () => [inboxExpired(IDS.inbox, NOW)],
  inbox_full: () => [inboxFull()],
  malformed_message: () => [emptyMessage()],
  message_too_large: () => [messageTooLarge(BUILT_IN_PLANS.free.maxMessageBytes)],
  permanent_inbox: () => [permanentInbox()],
  payload_too_large: () => [bodyTooLarge(MAX_BODY_BYTES)],
  unsupported_media_type: ({ accepts }) => [unsupportedMediaType('text/plain', accepts)],
  rate_limited: () => [rateLimited('free', FREE_PLAN, 1)],
  quota_exceeded: () => [quotaExceeded(FREE_QUOTA, NEXT_MONTH, NOW)],
  limit_reached: ({ path }) => [
    new AppError('limit_reached', LIMITS[path] ?? Object.values(LIMITS)[0] ?? ''),
  ],
};

/** The realistic problem documents of a code for an operation; none for a code that has no example. */
export function problemExamples(code: ProblemCode, operation: DescribedOperation): Problem[] {
  const made = MADE[code]?.(operation).map((error) => toProblem(error, REQUEST_ID).body);
  return made ?? (TEXTS[code] ?? []).map((text) => problem(code, text, REQUEST_ID));
}
