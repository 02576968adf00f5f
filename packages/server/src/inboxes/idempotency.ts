import { hash, randomBytes } from 'node:crypto';
import { invalidField } from '../http/request/invalid-fields.ts';
import { deriveReadToken } from '../ids.ts';
import { quoted } from '../text/nearest.ts';
import type { IdempotentRequest } from './records.ts';

/** Too long to guess: the read token of an idempotent creation is derived from it. */
const NONCE_BYTES = 16;
/** Visible ASCII (RFC 9110 section 5.5), of a length that client libraries can count on. */
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/;

/** The same text for every order of the fields. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_name, field) =>
    typeof field === 'object' && field !== null
      ? Object.fromEntries(Object.entries(field).sort(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  );

const sha256 = (text: string): string => hash('sha256', text, 'hex');

export interface RepeatableRequest {
  stored: IdempotentRequest;
  /** The read token of the inbox that was created with this nonce. */
  readToken(nonce: string): string;
}

/** Reads an Idempotency-Key header. @throws AppError `invalid_request` */
export function repeatableRequest(header: string | undefined, body: unknown): RepeatableRequest | null {
  if (header === undefined) return null;
  if (!IDEMPOTENCY_KEY.test(header)) {
    throw invalidField(
      'Idempotency-Key',
      `The header "Idempotency-Key" must have 1 to 255 visible ASCII characters without spaces, not ${quoted(header)}.`,
    );
  }
  return {
    stored: {
      keyHash: sha256(header),
      bodyHash: sha256(canonical(body)),
      nonce: randomBytes(NONCE_BYTES).toString('base64url'),
    },
    readToken: (nonce) => deriveReadToken(header, nonce),
  };
}
