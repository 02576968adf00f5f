import { createHmac, randomBytes } from 'node:crypto';

// Standard Webhooks specification, version 1.0.0: HMAC-SHA256 over `id.timestamp.body`.

const SECRET_PREFIX = 'whsec_';
/** The specification allows 24 to 64 bytes; the HMAC's output has 32. */
const SECRET_BYTES = 32;

export interface SignedContent {
  /** Sent as `webhook-id`; the same on every attempt. Contains no dot. */
  id: string;
  timestampSeconds: number;
  /** Exactly the body that is sent; a string is encoded as UTF-8. */
  body: string | Uint8Array;
  /** Secrets that sign, newest first: usually one, more during a rotation. */
  secrets: readonly string[];
}

/** A type rather than an interface, so that it is assignable to `Record<string, string>`. */
export type SignatureHeaders = {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

export const newWebhookSecret = (random = randomBytes(SECRET_BYTES)): string =>
  SECRET_PREFIX + random.toString('base64');

/** A receiver accepts a delivery if one signature matches its secret. */
export function signatureHeaders({ id, timestampSeconds, body, secrets }: SignedContent): SignatureHeaders {
  const signatures = secrets.map((secret) => `v1,${sign(secret, `${id}.${timestampSeconds}.`, body)}`);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}

function sign(secret: string, head: string, body: string | Uint8Array): string {
  const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
  return createHmac('sha256', key).update(head).update(body).digest('base64');
}
