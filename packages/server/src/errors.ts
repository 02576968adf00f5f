/**
 * The closed list of what can go wrong on purpose. Each border translates a code once:
 * `http/errors.ts` to a status and a problem document, `smtp/replies.ts` to a reply.
 */
export type ErrorCode =
  | 'invalid_request'
  | 'invalid_since'
  | 'malformed_json'
  | 'unauthorized'
  | 'insufficient_scope'
  | 'not_found'
  | 'method_not_allowed'
  | 'address_taken'
  | 'idempotency_in_progress'
  | 'idempotency_key_reused'
  | 'inbox_expired'
  | 'inbox_full'
  | 'last_key'
  | 'limit_reached'
  | 'message_too_large'
  | 'payload_too_large'
  | 'unsupported_media_type'
  | 'malformed_message'
  | 'unknown_recipient'
  | 'webhook_disabled'
  | 'webhook_url_refused'
  | 'rate_limited'
  | 'quota_exceeded'
  | 'unavailable';

/** One thing wrong with one place of a request; `path` is a JSON pointer or a parameter's name. */
export interface FieldError {
  path: string;
  message: string;
}

/** What an {@link AppError} carries besides its words; all of it may be shown to the client. */
export interface ErrorDetails {
  errors?: FieldError[];
  /** Seconds after which a repeat makes sense. */
  retryAfterSeconds?: number;
  /** When the inbox ended, epoch milliseconds (`inbox_expired`). */
  expiredAt?: number;
  /** Methods a path does answer (`method_not_allowed`). */
  allow?: string[];
}

/**
 * A failure that its receiver is meant to read: `message` is written for them and never holds a
 * secret. Anything else that is thrown is a defect: logged at the border, answered without its text.
 */
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
