/** `@mayfly/client/webhooks`: checks the signature of webhooks, by WebCrypto, so in browsers and workers too. */
import type { MessageReceivedEvent } from './generated/api.ts';

/** Older or newer requests are repetitions by somebody else, or a wrong clock (Standard Webhooks). */
const TOLERANCE_SECONDS = 300;

type Headers = { get(name: string): string | null } | Record<string, string | string[] | undefined>;

/** Why a webhook was rejected; respond with 400 or 401. */
export class WebhookVerificationError extends Error {
  override readonly name = 'WebhookVerificationError';
}

const headerOf = (headers: Headers, name: string): string => {
  const value =
    typeof headers.get === 'function' ? headers.get(name) : (headers as Record<string, unknown>)[name];
  if (typeof value !== 'string' || value === '') {
    throw new WebhookVerificationError(`The request has no header "${name}": it is not a webhook of Mayfly.`);
  }
  return value;
};

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/**
 * Verifies a request by the Standard Webhooks specification.
 * @param body exactly as received: text or bytes, not parsed JSON
 * @param headers of the request: `Headers`, or an object with names in lower case as Node.js has it
 * @param secret `whsec_…`
 * @returns the event
 * @throws WebhookVerificationError
 */
export async function verify(
  body: string | Uint8Array,
  headers: Headers,
  secret: string,
  now: Date = new Date(),
): Promise<MessageReceivedEvent> {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature').split(' ');
  if (!(Math.abs(now.getTime() / 1000 - Number(timestamp)) <= TOLERANCE_SECONDS)) {
    throw new WebhookVerificationError(
      `The timestamp ${timestamp} is more than ${TOLERANCE_SECONDS} seconds from the time of this machine.`,
    );
  }
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const hash = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytesOf(secret.replace(/^whsec_/, '')), hash, false, [
    'verify',
  ]);
  for (const signature of signatures) {
    const [version, value = ''] = signature.split(',');
    if (version === 'v1' && (await crypto.subtle.verify('HMAC', key, decode(value), signed)))
      return JSON.parse(text);
  }
  throw new WebhookVerificationError('The signature does not match: another secret, or a changed body.');
}

/** Bytes of a signature; of one that is not base64, none. */
function decode(signature: string): Uint8Array<ArrayBuffer> {
  try {
    return bytesOf(signature);
  } catch {
    return new Uint8Array();
  }
}
