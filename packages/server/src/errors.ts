import type { Problem, ProblemField } from '@mayfly/client/contract';
import { quoted, withoutCredentials } from './text/nearest.ts';

/** `outcome_unknown`: a write may have taken effect (see `Store`). HTTP clients get `unavailable` instead. */
export type ErrorCode = Problem['code'] | 'outcome_unknown';

/** Data for the response, so it must not contain secrets. */
export interface ErrorDetails {
  errors?: ProblemField[];
  retryAfterSeconds?: number;
  /** Epoch milliseconds; only for `inbox_expired`. */
  expiredAt?: number;
  allow?: string[];
  contentRange?: string;
  /** Value of the Accept-Encoding header of an `unsupported_media_type` response (RFC 9110 section 12.5.3). */
  acceptEncoding?: string;
}

/** The message is a sentence for the client, without secrets. Messages of other errors are only logged. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.details = details;
  }
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The code of an error of Node.js or of a library, such as `ENOENT`; '' if the error has no code. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

export const toError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

const KINDS = {
  inbox: { prefix: 'inb', source: 'List the inboxes of the account with GET /v1/inboxes.' },
  message: { prefix: 'msg', source: 'List the messages with GET /v1/inboxes/{id}/messages.' },
  attachment: { prefix: 'att', source: 'The field "attachments" of the message lists the ids.' },
  webhook: { prefix: 'whk', source: 'List the webhooks of the account with GET /v1/webhooks.' },
  delivery: { prefix: 'dlv', source: 'List the deliveries with GET /v1/webhooks/{id}/deliveries.' },
  wait: {
    prefix: 'wai',
    source: 'The "waitId" of a wait that failed is good for 24 hours, for the last 20 of an inbox.',
  },
  key: { prefix: 'key', source: 'List the API keys of the account with GET /v1/keys.' },
} as const;

export type Kind = keyof typeof KINDS;

/** Maximum length of an address (RFC 5321 section 4.5.3.1.3). */
const MAX_ADDRESS = 254;

const withArticle = (kind: string): string => `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}`;

function otherThanId(kind: Kind, id: string): string {
  if (kind === 'inbox' && id.includes('@') && id.length <= MAX_ADDRESS) {
    const address = encodeURIComponent(withoutCredentials(id.toWellFormed()));
    return `${quoted(id)} is an address, not the id of an inbox. Look up the id with GET /v1/inboxes?address=${address}.`;
  }
  const other = Object.entries(KINDS).find(([, { prefix }]) => id.startsWith(`${prefix}_`));
  if (!other || other[0] === kind) return '';
  return `${quoted(id)} is the id of ${withArticle(other[0])}, not of ${withArticle(kind)}. ${KINDS[kind].source}`;
}

/** The same error for ids that do not exist and ids of other accounts, so that clients cannot probe for them. */
export function notFound(kind: Kind, id: string): AppError {
  const { source } = KINDS[kind];
  const ended = kind === 'inbox' ? ': it may have been deleted, or have expired more than 24 hours ago' : '';
  const message = `No ${kind} with the id ${quoted(id)} is visible to this credential${ended}. ${source}`;
  return new AppError('not_found', otherThanId(kind, id) || message);
}
