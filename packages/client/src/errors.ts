import type { MailLink, Problem, WaitExplanation } from './generated/api.ts';
import type { Message } from './message.ts';
import type { Milliseconds } from './transport.ts';

/**
 * A stack frame within a Mayfly package. Without these, reports of test runners begin with the line of the
 * test.
 */
const OWN_FRAME = /^\s+at .*[\\/]node_modules[\\/]@mayfly[\\/].*\n?/gm;

/** Hides fields that are long and repeat the message, because test runners print the fields of errors. */
const hide = (error: MayflyError, ...names: string[]) => {
  for (const name of names) Object.defineProperty(error, name, { enumerable: false });
};

/**
 * The base of every error of this library. `instanceof` fails between the ES module and the CommonJS copy of a
 * package, so use `MayflyError.is(error)` and `code`.
 */
export class MayflyError extends Error {
  /** For programs: the `code` of the API's problem, or one of this library, such as `wait_timeout`. */
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    const stack = this.stack?.replace(/^Error/, this.name).replace(OWN_FRAME, '');
    Object.defineProperty(this, 'stack', { value: stack, configurable: true, writable: true });
  }

  get isMayflyError(): boolean {
    return true;
  }

  static is(error: unknown): error is MayflyError {
    return (error as MayflyError | null)?.isMayflyError === true;
  }
}

/** The error for an invalid argument. */
export const invalid = (text: string): MayflyError => new MayflyError('invalid_option', text);

/** An error response. `problem` is undefined if the response did not come from Mayfly (a proxy's 502). */
export class ApiError extends MayflyError {
  readonly status: number;
  readonly problem: Problem | undefined;
  readonly requestId: string | undefined;
  /** Value of the Retry-After header. */
  readonly retryAfter: Milliseconds | undefined;

  /** @param reason the problem, or why the response cannot be from Mayfly */
  constructor(request: string, status: number, reason: Problem | string, retryAfter?: Milliseconds) {
    const problem = typeof reason === 'string' ? undefined : reason;
    super(
      problem?.code ?? 'http_error',
      `${problem?.detail ?? reason} (${request}: ${status}${problem ? `, request ${problem.requestId}` : ''})`,
    );
    this.status = status;
    this.problem = problem;
    this.requestId = problem?.requestId;
    this.retryAfter = retryAfter;
    hide(this, 'problem');
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
/** 429: the rate limit or the monthly quota is used up. */
export class LimitError extends ApiError {}
/** 403: the credential lacks the permission. */
export class ScopeError extends ApiError {}

/** Advice for error causes whose message does not say what to do. */
const ADVICE: Array<[RegExp, string]> = [
  [
    /wrong version number|packet length too long/,
    'The server does not speak TLS on that port: write http:// in MAYFLY_URL.',
  ],
  [
    /self[- ]signed|unable to verify|unable to get (local )?issuer/,
    'Name the certificate of its authority in NODE_EXTRA_CA_CERTS.',
  ],
  [
    /HTTP\/1\.1 protocol|Parse Error/,
    'Something else answers on that port, such as SMTP: MAYFLY_URL is the URL of the API.',
  ],
  [/altname/i, 'Write MAYFLY_URL with a name that the certificate of the server has.'],
  [/certificate has expired/, 'Renew the certificate of the server.'],
  [
    /fetch is not (a function|defined)/,
    'The environment of this test has no fetch, as jsdom: run it in the environment "node", or pass "fetch".',
  ],
  [/Invalid URL|bad port/, 'Check the URL in MAYFLY_URL.'],
];

/** The server could not be reached, or its response did not arrive in full. */
export class ConnectionError extends MayflyError {
  readonly url: string;
  readonly attempts: number;

  constructor(url: string, attempts: number, cause: unknown) {
    const { cause: inner = cause } = cause as Error;
    const { message, code } = inner as { message?: string; code?: string };
    const why = (message || code || String(inner)).trim().replace(/\.$/, '');
    const known = ADVICE.find(([pattern]) => pattern.test(`${why} ${code}`));
    const advice = known?.[1] ?? 'Start a server with "npx mayfly dev", or set MAYFLY_URL.';
    const times = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
    super('connection_failed', `${url} did not respond in ${times}: ${why}. ${advice}`, { cause });
    this.url = url;
    this.attempts = attempts;
  }
}

/** No message matched in time. The text is the server's explanation, as a sentence and as a table. */
export class WaitTimeoutError extends MayflyError {
  readonly inboxId: string;
  readonly timeout: Milliseconds;
  /** Id under which the server keeps the explanation of the wait; undefined if it keeps none. */
  readonly waitId: string | undefined;
  /** Undefined if the server could not be reached at the end. */
  readonly explanation: WaitExplanation | undefined;
  /** False if the server could not be reached at the end: a message may have arrived unnoticed. */
  readonly isFinal: boolean;

  constructor(
    text: string,
    of: Pick<WaitTimeoutError, 'inboxId' | 'timeout' | 'waitId' | 'explanation' | 'isFinal'>,
  ) {
    super('wait_timeout', text);
    this.inboxId = of.inboxId;
    this.timeout = of.timeout;
    this.waitId = of.waitId;
    this.explanation = of.explanation;
    this.isFinal = of.isFinal;
    hide(this, 'explanation');
  }
}

/** A message matched during `expectSilence`. */
export class UnexpectedMessageError extends MayflyError {
  // The mail that arrived. Not `message`, which is the text of every Error.
  readonly mail: Message;

  constructor(text: string, mail: Message) {
    super('unexpected_message', text);
    this.mail = mail;
    hide(this, 'mail');
  }
}

/** The message has no code. */
export class NoCodeError extends MayflyError {
  constructor(text: string) {
    super('no_code', text);
  }
}

/** No link of a message, or more than one, meets the conditions. */
export class AmbiguousError extends MayflyError {
  readonly candidates: MailLink[];

  constructor(text: string, candidates: MailLink[]) {
    super('ambiguous', text);
    this.candidates = candidates;
  }
}

/** Why a webhook was rejected; respond with 400 or 401. */
export class WebhookVerificationError extends MayflyError {
  constructor(text: string) {
    super('webhook_rejected', text);
  }
}

const CLASSES: Record<number, typeof ApiError> = {
  403: ScopeError,
  404: NotFoundError,
  410: GoneError,
  429: LimitError,
};

/** Advice to unset the proxy, if Node.js uses the proxy of the environment. */
const proxyAdvice = () =>
  (globalThis as { process?: { env?: Record<string, string | undefined> } }).process?.env?.NODE_USE_ENV_PROXY
    ? ', and name its host in NO_PROXY, because NODE_USE_ENV_PROXY is set'
    : '';

/** Describes a response that is not a problem document of Mayfly. */
function strangeResponse({ status, headers, type, url }: Response): string {
  const isRedirect = type === 'opaqueredirect' || (status >= 300 && status < 400);
  if (!isRedirect)
    return `The response of ${url} did not come from Mayfly: check MAYFLY_URL${proxyAdvice()}.`;
  return `${url} redirects to ${headers.get('location') ?? 'another server'}: set MAYFLY_URL to the server itself.`;
}

/** Creates the error for an error response, and reads or cancels its body. */
export async function apiError(response: Response, request: string): Promise<ApiError> {
  const { status, headers } = response;
  const isProblem = /problem\+json/.test(headers.get('content-type') ?? '');
  const problem: Problem | undefined = isProblem ? ((await response.json()) as Problem) : undefined;
  if (!isProblem) await response.body?.cancel();
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const ErrorClass = CLASSES[status] ?? ApiError;
  const retryAfter = seconds >= 0 ? seconds * 1000 : undefined;
  return new ErrorClass(request, status, problem ?? strangeResponse(response), retryAfter);
}
