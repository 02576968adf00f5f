import type { AttemptResult } from '../schedule.ts';

/**
 * Why an attempt failed, for programs:
 * - `url_refused`, `address_refused`: we do not connect there; nothing was sent
 * - `dns_failed`, `connect_failed`, `tls_failed`: no connection; nothing was sent
 * - `connection_closed`, `bad_answer`: it may have been received, and no usable answer came
 * - `timeout`: no status came within the limit
 * - `redirect`, `status`: an answer, but no 2xx
 * - `aborted`: we stopped it ourselves; it says nothing about the endpoint and is not to be counted
 */
export type AttemptErrorCode =
  | 'url_refused'
  | 'address_refused'
  | 'dns_failed'
  | 'connect_failed'
  | 'tls_failed'
  | 'connection_closed'
  | 'bad_answer'
  | 'timeout'
  | 'redirect'
  | 'status'
  | 'aborted';

/** `message` is a sentence for the endpoint's owner; it tells nothing of our own network. */
export interface AttemptError {
  code: AttemptErrorCode;
  message: string;
}

/** What became of one attempt; all of it may be kept in the delivery log. */
export interface AttemptOutcome extends AttemptResult {
  durationMs: number;
  /** Null exactly when `ok`. */
  error: AttemptError | null;
  /**
   * The beginning of the answer's body as text, without control characters but for tab and line
   * breaks; '' when there was none or it came compressed. Untrusted.
   */
  responseStart: string;
}

/** The error of an answer's status, or null for 2xx. */
export function statusError(status: number): AttemptError | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) {
    return { code: 'redirect', message: `The endpoint answered ${status}; redirects are not followed.` };
  }
  return { code: 'status', message: `The endpoint answered ${status}.` };
}

const CONNECT_SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The endpoint refused the connection.',
  EHOSTUNREACH: 'There is no route to the endpoint.',
  ENETUNREACH: 'There is no route to the endpoint.',
  ETIMEDOUT: 'The connection could not be made in time.',
  UND_ERR_CONNECT_TIMEOUT: 'The connection could not be made in time.',
};

/** Codes of node:dns; all that a look-up can fail with (resolve.ts). */
const DNS_CODES =
  /^(ENOTFOUND|ENODATA|EAI_\w+|ETIMEOUT|E?SERVFAIL|E?REFUSED|ECANCELLED|EBAD\w+|EFORMERR|ENOTIMP)$/;

/** Beside its parser's errors; ERR_ASSERTION is what undici makes of an upgrade nobody asked for. */
const BAD_ANSWER_CODES: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_OVERFLOW',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'ERR_ASSERTION',
]);

/**
 * Translates what node and undici throw before a status is there. Sentences are ours: theirs name
 * addresses and are not for strangers.
 */
export function attemptError(error: unknown): AttemptError {
  const code = codeOf(error);
  if (code === 'ERR_ADDRESS_REFUSED') return { code: 'address_refused', message: messageOf(error) };
  if (DNS_CODES.test(code)) {
    return { code: 'dns_failed', message: 'The host name of the endpoint could not be looked up.' };
  }
  const sentence = CONNECT_SENTENCES[code];
  if (sentence) return { code: 'connect_failed', message: sentence };
  if (isTlsCode(code)) {
    return { code: 'tls_failed', message: `The endpoint's TLS could not be verified or spoken (${code}).` };
  }
  if (isParserError(error) || BAD_ANSWER_CODES.has(code)) {
    return {
      code: 'bad_answer',
      message: "The endpoint's answer is not HTTP, or its headers are too large.",
    };
  }
  return { code: 'connection_closed', message: 'The endpoint closed the connection without an answer.' };
}

/** Of undici, told by its name: its code differs with what was wrong, and may be missing. */
function isParserError(error: unknown): boolean {
  return error instanceof Error && error.name === 'HTTPParserError';
}

/** OpenSSL's verification results, which node uses as codes as they are, and node's own. */
function isTlsCode(code: string): boolean {
  return /^ERR_(TLS|SSL)_|CERT|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|^EPROTO$/.test(code);
}

function codeOf(error: unknown): string {
  // Several addresses were tried: the last one's reason stands for all.
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors.at(-1));
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}
