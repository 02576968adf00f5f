import { createHmac, randomBytes } from 'node:crypto';

/**
 * Signing by the Standard Webhooks specification, version 1.0.0: HMAC-SHA256 over
 * `id.timestamp.body`, so that any of its libraries verifies our deliveries.
 */

const SECRET_PREFIX = 'whsec_';
/** The specification allows 24 to 64 bytes; 32 are as many as the HMAC's output. */
const SECRET_BYTES = 32;
const SECRET_FORM = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;

/** What one attempt of a delivery signs. */
export interface SignedContent {
  /** Goes out as `webhook-id`; the same on every attempt. Holds no dot. */
  id: string;
  /** When this attempt is made, whole seconds since the epoch. */
  timestampSeconds: number;
  /** Exactly the body that is sent; text stands for its UTF-8. */
  body: string | Uint8Array;
  /** The endpoint's secrets, newest first: two while a rotation lasts, else one. */
  secrets: readonly string[];
}

/** A type, not an interface, so that it fits where a record of headers is asked for. */
export type SignatureHeaders = {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

/**
 * A new signing secret: `whsec_` and base64.
 * @param random 32 random bytes, given by tests
 */
export function newWebhookSecret(random: Uint8Array = randomBytes(SECRET_BYTES)): string {
  if (random.length !== SECRET_BYTES) throw new RangeError(`a secret is made of ${SECRET_BYTES} bytes`);
  return SECRET_PREFIX + Buffer.from(random).toString('base64');
}

/**
 * The three headers that prove a delivery. The receiver accepts it when one of the signatures fits
 * its secret, so both secrets of a rotation verify.
 * @throws Error on a secret, id or time that no stored record may hold; the text never shows a secret
 */
export function signatureHeaders({ id, timestampSeconds, body, secrets }: SignedContent): SignatureHeaders {
  if (!/^[^\s.]+$/.test(id)) throw new Error('a webhook-id is not empty and holds neither dots nor spaces');
  if (!Number.isSafeInteger(timestampSeconds)) throw new Error('webhook-timestamp must be whole seconds');
  if (secrets.length === 0) throw new Error('a delivery needs at least one secret to sign with');
  const signatures = secrets.map((secret) => `v1,${sign(secret, `${id}.${timestampSeconds}.`, body)}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}

function sign(secret: string, head: string, body: string | Uint8Array): string {
  if (!SECRET_FORM.test(secret)) throw new Error('a stored webhook secret is malformed');
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return createHmac('sha256', key).update(head).update(body).digest('base64');
}
