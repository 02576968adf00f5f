import { createHmac, randomBytes } from 'node:crypto';

// Standard Webhooks specification, version 1.0.0: HMAC-SHA256 over `id.timestamp.body`.

const SECRET_PREFIX = 'whsec_';
/** The specification allows 24 to 64 bytes; the HMAC's output has 32. */
const SECRET_BYTES = 32;
const SECRET_FORM = /^whsec_[A-Za-z0-9+/]{32,88}={0,2}$/;

export interface SignedContent {
  /** Sent as `webhook-id`; the same on every attempt. Contains no dot. */
  id: string;
  timestampSeconds: number;
  /** Exactly the body that is sent; a string is encoded as UTF-8. */
  body: string | Uint8Array;
  /** Newest first: two during a rotation, otherwise one. */
  secrets: readonly string[];
}

/** A type rather than an interface, so that it is assignable to `Record<string, string>`. */
export type SignatureHeaders = {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

export function newWebhookSecret(random: Uint8Array = randomBytes(SECRET_BYTES)): string {
  if (random.length !== SECRET_BYTES) throw new RangeError(`a secret needs ${SECRET_BYTES} random bytes`);
  return SECRET_PREFIX + Buffer.from(random).toString('base64');
}

/** A receiver accepts a delivery if one signature matches its secret. @throws Error for malformed secret, id or time */
export function signatureHeaders({ id, timestampSeconds, body, secrets }: SignedContent): SignatureHeaders {
  if (!/^[^\s.]+$/.test(id)) throw new Error('a webhook-id must not be empty or contain dots or spaces');
  if (!Number.isSafeInteger(timestampSeconds)) throw new Error('webhook-timestamp must be whole seconds');
  if (secrets.length === 0) throw new Error('a delivery needs at least one secret');
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
