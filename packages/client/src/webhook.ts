import { WebhookVerificationError } from './errors.ts';
import type { MessageReceivedEvent } from './generated/api.ts';

/** Older or newer requests are replays, or a clock is wrong (Standard Webhooks). */
const TOLERANCE_SECONDS = 300;

export type WebhookHeaders =
  | { get(name: string): string | null }
  | Record<string, string | string[] | undefined>;

const headerOf = (headers: WebhookHeaders, name: string): string => {
  const value =
    typeof headers.get === 'function' ? headers.get(name) : (headers as Record<string, unknown>)[name];
  if (typeof value !== 'string' || value === '') {
    throw new WebhookVerificationError(`The request has no header "${name}": it is not a webhook of Mayfly.`);
  }
  return value;
};

/** Decodes base64; empty if the text is not base64. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

/**
 * Verifies a request by the Standard Webhooks specification. Uses WebCrypto, so it also runs in browsers and
 * workers.
 * @param body exactly as received: text or bytes, not parsed JSON
 * @param headers of the request: `Headers`, or an object with names in lower case as Node.js has it
 * @param secret `whsec_…`
 * @returns the event
 * @throws WebhookVerificationError
 */
export async function verify(
  body: string | Uint8Array,
  headers: WebhookHeaders,
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
  const bytes = bytesOf(String(secret).replace(/^whsec_/, ''));
  if (bytes.length === 0) throw new WebhookVerificationError('There is no secret: it begins with whsec_.');
  if (typeof body !== 'string' && !(body instanceof Uint8Array))
    throw new WebhookVerificationError('The body must be the text or bytes as received, not parsed JSON.');
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const key = await crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, [
    'verify',
  ]);
  for (const signature of signatures) {
    const [version, value = ''] = signature.split(',');
    if (version === 'v1' && (await crypto.subtle.verify('HMAC', key, bytesOf(value), signed)))
      return JSON.parse(text);
  }
  throw new WebhookVerificationError('The signature does not match: another secret, or a changed body.');
}
