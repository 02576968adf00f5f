import { createHmac, randomBytes } from 'node:crypto';
import type { InboundMail, Outcome, OutcomeEvent, Posting, Secrets, Signing } from '../provider.ts';
import { received } from './receiving.ts';

const BOUNCES = {
  bounce: {
    type: 'Permanent',
    subType: 'General',
    message:
      "The recipient's email provider sent a hard bounce message: 550 5.1.1 The recipient does not exist.",
  },
  'soft-bounce': {
    type: 'Transient',
    subType: 'MailboxFull',
    message: "The recipient's email provider sent a bounce message: 452 4.2.2 The mailbox is full.",
  },
} as const;

const TYPES: Readonly<Partial<Record<Outcome, string>>> = {
  bounce: 'email.bounced',
  'soft-bounce': 'email.bounced',
  complaint: 'email.complained',
  delay: 'email.delivery_delayed',
};

export function became(outcome: Outcome | 'delivered'): { last_event: string } | undefined {
  const type = outcome === 'delivered' ? 'email.delivered' : TYPES[outcome];
  return type === undefined ? undefined : { last_event: type.replace('email.', '') };
}

export const makeSecrets = async (): Promise<Record<string, string>> => ({
  signingSecret: `whsec_${randomBytes(24).toString('base64')}`,
});

/** Undefined for an unsubscription, for which Resend has no event. */
export function event(
  { id, outcome, recipient, at, sending }: OutcomeEvent,
  signing: Signing,
): Posting | undefined {
  const type = TYPES[outcome];
  if (type === undefined) return undefined;
  const { tags, ...given } = sending.given;
  const named = (Array.isArray(tags) ? tags : []).map(({ name, value }) => [name, value]);
  const data = {
    ...given,
    ...{ email_id: sending.providerId, to: [recipient], subject: sending.subject },
    ...(named.length > 0 && { tags: Object.fromEntries(named) }),
    ...((outcome === 'bounce' || outcome === 'soft-bounce') && { bounce: BOUNCES[outcome] }),
  };
  return posting(id, { type, created_at: new Date(at).toISOString(), data }, signing);
}

export function inbound(mail: InboundMail, signing: Signing): Posting {
  const {
    object: _object,
    id,
    html: _html,
    text: _text,
    headers: _headers,
    raw: _raw,
    ...rest
  } = received(mail);
  const attachments = rest.attachments.map(({ size: _size, download_url: _url, ...facts }) => facts);
  const data = { email_id: id, ...rest, attachments };
  return posting(mail.id, { type: 'email.received', created_at: rest.created_at, data }, signing);
}

/** Signed as Svix does: HMAC-SHA256 of id, time and body, by the secret's bytes. */
function posting(id: string, value: object, { secrets, now }: Signing): Posting {
  const body = JSON.stringify(value);
  const timestamp = String(Math.floor(now / 1_000));
  const signature = createHmac('sha256', keyOf(secrets))
    .update(`${id}.${timestamp}.${body}`)
    .digest('base64');
  return {
    headers: {
      ...{ 'content-type': 'application/json', 'user-agent': 'Svix-Webhooks/1.0' },
      ...{ 'svix-id': id, 'svix-timestamp': timestamp, 'svix-signature': `v1,${signature}` },
    },
    body: Buffer.from(body),
  };
}

const keyOf = ({ signingSecret = '' }: Secrets): Buffer =>
  Buffer.from(signingSecret.replace(/^whsec_/, ''), 'base64');
