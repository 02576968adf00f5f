import { json, NamedRefusal } from '../given.ts';
import type { Refused, Reply } from '../provider.ts';

/** https://postmarkapp.com/developer/api/overview#error-codes */
export type ErrorCode = 0 | 10 | 300 | 402 | 403 | 410 | 411 | 412 | 429 | 1101 | 1104 | 1106;

const WRONG_TOKEN =
  'The Server Token you provided in the X-Postmark-Server-Token request header was invalid. Please verify that you are using a valid token.';

/** Postmark's status for everything that is wrong with a request. */
const UNPROCESSABLE = 422;

export const wrong = (code: ErrorCode, message: string): NamedRefusal =>
  new NamedRefusal(UNPROCESSABLE, String(code), message);

const INVALID_REQUEST = 300;
const MAINTENANCE = 100;
/** Codes of what the server refuses, by status. */
const CODES: Readonly<Record<number, ErrorCode>> = { 401: 10, 429: 429 };

/** What a request or a mail of a batch gets. */
export function errorOf(error: Refused): { ErrorCode: number; Message: string } {
  const otherwise = error.status < 500 ? INVALID_REQUEST : MAINTENANCE;
  const code = error instanceof NamedRefusal ? Number(error.kind) : (CODES[error.status] ?? otherwise);
  // Our words say what to do; those of Postmark are what applications may look for.
  const message = error.status === 401 ? `${WRONG_TOKEN} ${error.message}` : error.message;
  return { ErrorCode: code, Message: message };
}

export const refusal = (error: Refused): Reply => json(errorOf(error), error.status);
