import { createHmac, randomBytes } from 'node:crypto';
import type { InboundMail, Outcome, OutcomeEvent, Posting, Secrets, Signing } from '../provider.ts';

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

export const makeSecrets = async (): Promise<Record<string, string>> => ({
  signingSecret: `whsec_${randomBytes(24).toString('base64')}`,
});

/** Resend has no event for a recipient that unsubscribes from mails of this interface. */
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
  const written = ({ name, address }: { name: string; address: string }) =>
    name ? `${name} <${address}>` : address;
  const data = {
    ...{ email_id: mail.id, created_at: new Date(mail.at).toISOString(), from: written(mail.from) },
    ...{ to: mail.to.map(written), bcc: [], cc: mail.cc.map(written), received_for: [mail.rcptTo] },
    ...{ message_id: mail.messageId, subject: mail.subject },
    attachments: mail.attachments.map(({ filename, contentType, contentId }, index) => ({
      ...{ id: String(index + 1), filename: filename || null, content_type: contentType },
      content_disposition: contentId ? 'inline' : 'attachment',
      content_id: contentId || null,
    })),
  };
  return posting(mail.id, { type: 'email.received', created_at: data.created_at, data }, signing);
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
