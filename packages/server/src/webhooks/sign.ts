import { createHmac, randomBytes } from 'node:crypto';

/* Standard Webhooks specification, version 1.0.0: HMAC-SHA256 over `id.timestamp.body`. */

const SECRET_PREFIX = 'whsec_';
/** The specification allows 24 to 64 bytes. 32 is also the length of the HMAC. */
const SECRET_BYTES = 32;

export const newWebhookSecret = (): string => SECRET_PREFIX + randomBytes(SECRET_BYTES).toString('base64');

/** @param id the same for all attempts; must not contain a dot, because dots separate the signed parts */
export function signatureHeaders(
  id: string,
  timestampSeconds: number,
  body: string,
  secrets: readonly string[],
) {
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.slice(SECRET_PREFIX.length), 'base64');
    return `v1,${createHmac('sha256', key).update(`${id}.${timestampSeconds}.${body}`).digest('base64')}`;
  });
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSeconds),
    'webhook-signature': signatures.join(' '),
  };
}
