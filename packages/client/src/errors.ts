import type { MailLink, Problem, WaitExplanation } from './generated/api.ts';
import type { Message } from './message.ts';

/**
 * The base of every error of this library. `instanceof` fails between the ES module and the CommonJS copy of a
 * package, so use `MayflyError.is(error)` and `code`.
 */
export class MayflyError extends Error {
  readonly isMayflyError = true;
  /** For programs: the `code` of the API's problem, or one of this library, such as `wait_timeout`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }

  static is(error: unknown): error is MayflyError {
    return (error as MayflyError | null)?.isMayflyError === true;
  }
}

/** A response that is not a success. `problem` is undefined when it did not come from Mayfly (a proxy's 502). */
export class ApiError extends MayflyError {
  readonly status: number;
  readonly problem: Problem | undefined;
  readonly requestId: string | undefined;
  /** From Retry-After. */
  readonly retryAfterMs: number | undefined;

  constructor(request: string, status: number, problem?: Problem, retryAfterMs?: number) {
    super(
      problem?.code ?? 'http_error',
      `${problem?.detail ?? 'The response did not come from Mayfly: check MAYFLY_URL.'} (${request}: ${status}${problem ? `, request ${problem.requestId}` : ''})`,
    );
    this.status = status;
    this.problem = problem;
    this.requestId = problem?.requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** 404: unknown, deleted, or of another account. */
export class NotFoundError extends ApiError {}
/** 410: the inbox expired within the last 24 hours. */
export class GoneError extends ApiError {
  get expiredAt(): Date | undefined {
    return this.problem?.expiredAt ? new Date(this.problem.expiredAt) : undefined;
  }
}
/** 429: the rate limit or the monthly quota. */
export class LimitError extends ApiError {}
/** 403: the credential may not do this. */
export class ScopeError extends ApiError {}

/** The error class of a status. */
export const errorClassOf = (status: number): typeof ApiError =>
  ({ 403: ScopeError, 404: NotFoundError, 410: GoneError, 429: LimitError })[status] ?? ApiError;

/** The server could not be reached, or its response did not arrive in full. */
export class ConnectionError extends MayflyError {
  readonly url: string;
  readonly attempts: number;

  constructor(url: string, attempts: number, cause: unknown) {
    const { cause: inner = cause } = cause as Error;
    super(
      'connection_failed',
      `${url} did not respond in ${attempts} attempt${attempts === 1 ? '' : 's'}: ${(inner as Error)?.message || (inner as { code?: string })?.code || inner}. Check that Mayfly is running there, or set MAYFLY_URL.`,
      { cause },
    );
    this.url = url;
    this.attempts = attempts;
  }
}

/** No message matched in time. The message text is the server's explanation as a table. */
export class WaitTimeoutError extends MayflyError {
  readonly inboxId: string;
  readonly timeoutMs: number;
  /** Undefined when the server could not be reached at the end. */
  readonly explanation: WaitExplanation | undefined;
  /** False when the server could not be reached at the end: a message may have come since. */
  readonly isFinal: boolean;

  constructor(
    text: string,
    inboxId: string,
    timeoutMs: number,
    explanation?: WaitExplanation,
    isFinal = true,
  ) {
    super('wait_timeout', text);
    this.inboxId = inboxId;
    this.timeoutMs = timeoutMs;
    this.explanation = explanation;
    this.isFinal = isFinal;
  }
}

/** A message matched during `expectSilence`. */
export class UnexpectedMessageError extends MayflyError {
  // `message` is the text of every Error.
  readonly mail: Message;

  constructor(text: string, mail: Message) {
    super('unexpected_message', text);
    this.mail = mail;
  }
}

/** None, or more than one, of the links or codes of a message fits. */
export class AmbiguousError extends MayflyError {
  readonly candidates: MailLink[];

  constructor(text: string, candidates: MailLink[]) {
    super('ambiguous', text);
    this.candidates = candidates;
  }
}
