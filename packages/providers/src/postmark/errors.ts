import { json, NamedRefusal } from '../given.ts';
import type { Refused, Reply } from '../provider.ts';

/** https://postmarkapp.com/developer/api/overview#error-codes */
export type ErrorCode = 0 | 10 | 300 | 402 | 403 | 410 | 411 | 412 | 429 | 1101 | 1104 | 1106;

const WRONG_TOKEN =
  'The Server Token you provided in the X-Postmark-Server-Token request header was invalid. Please verify that you are using a valid token.';

/** Postmark's status for every invalid request. */
const UNPROCESSABLE = 422;

export const wrong = (code: ErrorCode, message: string): NamedRefusal =>
  new NamedRefusal(UNPROCESSABLE, String(code), message);

const INVALID_REQUEST = 300;
const MAINTENANCE = 100;
/** Postmark's codes for errors of the server, by status. */
const CODES: Readonly<Record<number, ErrorCode>> = { 401: 10, 429: 429 };

/** The error of a request, or of one mail of a batch. */
export function errorOf(error: Refused): { ErrorCode: number; Message: string } {
  const otherwise = error.status < 500 ? INVALID_REQUEST : MAINTENANCE;
  const code = error instanceof NamedRefusal ? Number(error.kind) : (CODES[error.status] ?? otherwise);
  // Combines Postmark's text, which applications may search for, with our advice.
  const message = error.status === 401 ? `${WRONG_TOKEN} ${error.message}` : error.message;
  return { ErrorCode: code, Message: message };
}

export const refusal = (error: Refused): Reply => json(errorOf(error), error.status);
