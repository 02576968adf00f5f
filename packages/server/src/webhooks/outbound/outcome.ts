import type { DeliveryAttempt } from '@mayfly/client/contract';
import { codeOf, messageOf } from '../../errors.ts';

export type AttemptError = NonNullable<DeliveryAttempt['error']>;

export interface AttemptOutcome {
  ok: boolean;
  status: number | null;
  retryAfter: string | null;
  durationMs: number;
  error: AttemptError | null;
  /** Start of the response body, with control characters replaced; '' if it is empty or compressed. */
  responseStart: string;
}

export function statusError(status: number): AttemptError | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400)
    return { code: 'redirect', message: `The endpoint answered ${status}; redirects are not followed.` };
  return { code: 'status', message: `The endpoint answered ${status}.` };
}

const CONNECT_SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'The endpoint refused the connection.',
  EHOSTUNREACH: 'There is no route to the endpoint.',
  ENETUNREACH: 'There is no route to the endpoint.',
  ETIMEDOUT: 'The connection could not be established in time.',
  UND_ERR_CONNECT_TIMEOUT: 'The connection could not be established in time.',
};

const DNS_CODES =
  /^(ENOTFOUND|ENODATA|EAI_\w+|ETIMEOUT|E?SERVFAIL|E?REFUSED|ECANCELLED|EBAD\w+|EFORMERR|ENOTIMP)$/;

const TLS_CODES = /^ERR_(TLS|SSL)_|CERT|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|^EPROTO$/;

/** Codes of undici for invalid responses; ERR_ASSERTION is its error for an unrequested upgrade. */
const BAD_ANSWER_CODES = ['UND_ERR_HEADERS_OVERFLOW', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH', 'ERR_ASSERTION'];

/** Translates errors of Node.js and undici: their texts contain addresses that clients must not see. */
export function attemptError(error: unknown): AttemptError {
  const code = lastCodeOf(error);
  if (code === 'ERR_ADDRESS_REFUSED') return { code: 'address_refused', message: messageOf(error) };
  if (DNS_CODES.test(code))
    return { code: 'dns_failed', message: 'The host name of the endpoint could not be resolved.' };
  const sentence = CONNECT_SENTENCES[code];
  if (sentence) return { code: 'connect_failed', message: sentence };
  if (TLS_CODES.test(code)) return { code: 'tls_failed', message: `TLS with the endpoint failed (${code}).` };
  // Parser errors of undici have different codes or none, but they all have this name.
  const isParserError = error instanceof Error && error.name === 'HTTPParserError';
  if (isParserError || BAD_ANSWER_CODES.includes(code))
    return {
      code: 'bad_answer',
      message: "The endpoint's response is not HTTP, or its headers are too large.",
    };
  return { code: 'connection_closed', message: 'The endpoint closed the connection without a response.' };
}

function lastCodeOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return lastCodeOf(error.errors.at(-1));
  return codeOf(error);
}
