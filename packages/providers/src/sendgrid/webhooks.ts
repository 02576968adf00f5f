import { createPrivateKey, generateKeyPair, sign } from 'node:crypto';
import { promisify } from 'node:util';
import { writtenMailbox } from '../address-list.ts';
import { basicAuthorization, makePassword } from '../basic-authentication.ts';
import { contentIdsOf, filesOf, writeForm } from '../form.ts';
import type { InboundMail, Outcome, OutcomeEvent, Posting, Secrets, Signing } from '../provider.ts';

/** SendGrid's fields of each outcome: https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event */
const OUTCOMES: Record<Outcome, Readonly<Record<string, unknown>>> = {
  bounce: {
    event: 'bounce',
    ...{ type: 'bounce', status: '5.1.1', bounce_classification: 'Invalid Address', tls: 1 },
    reason: '550 5.1.1 The email account that you tried to reach does not exist.',
  },
  'soft-bounce': {
    event: 'bounce',
    ...{ type: 'blocked', status: '4.2.2', bounce_classification: 'Mailbox Unavailable', tls: 1 },
    reason: '452 4.2.2 The email account that you tried to reach is over quota.',
  },
  complaint: { event: 'spamreport' },
  delay: { event: 'deferred', response: '400 try again later', attempt: '1', tls: 0 },
  unsubscribe: { event: 'unsubscribe' },
};

export async function makeSecrets(): Promise<Record<string, string>> {
  const { publicKey, privateKey } = await promisify(generateKeyPair)('ec', {
    namedCurve: 'prime256v1',
    publicKeyEncoding: { type: 'spki', format: 'der' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  return { privateKey, publicKey: publicKey.toString('base64'), ...makePassword() };
}

/** The signature covers the timestamp and the body. */
function signed(type: string, body: Buffer, secrets: Secrets, now: number): Posting {
  const timestamp = String(Math.floor(now / 1000));
  const key = createPrivateKey(secrets.privateKey ?? '');
  const signature = sign('sha256', Buffer.concat([Buffer.from(timestamp), body]), key);
  return {
    headers: {
      'content-type': type,
      'user-agent': 'SendGrid Event API',
      'x-twilio-email-event-webhook-signature': signature.toString('base64'),
      'x-twilio-email-event-webhook-timestamp': timestamp,
    },
    body,
  };
}

export function event(
  { id, outcome, recipient, at, sending }: OutcomeEvent,
  { secrets, now }: Signing,
): Posting {
  const { categories, customArgs, messageId, groupId } = sending.given as {
    categories?: string[];
    customArgs?: object;
    messageId?: string;
    groupId?: number;
  };
  const inGroup = outcome === 'unsubscribe' && groupId !== undefined;
  const body = [
    {
      ...customArgs,
      email: recipient,
      timestamp: Math.floor(at / 1000),
      'smtp-id': messageId,
      ...OUTCOMES[outcome],
      ...(inGroup && { event: 'group_unsubscribe', asm_group_id: groupId }),
      ...(categories && categories.length > 0 && { category: categories }),
      sg_event_id: Buffer.from(id).toString('base64url'),
      sg_message_id: `${sending.providerId}.recvd-mayfly-0.0`,
    },
  ];
  return signed('application/json', Buffer.from(JSON.stringify(body)), secrets, now);
}

const CHARSETS = JSON.stringify(
  Object.fromEntries(['to', 'from', 'subject', 'text', 'html', 'cc'].map((field) => [field, 'UTF-8'])),
);

/** Inbound Parse. `send_raw=true` in the query of the URL stands for SendGrid's setting "Send Raw". */
export function inbound(mail: InboundMail, { secrets, now, url }: Signing): Posting {
  const isRaw = new URL(url).searchParams.get('send_raw') === 'true';
  const files = isRaw ? [] : filesOf(mail, 'attachment');
  const info = files.map(({ field, filename, contentType: type, contentId }) => [
    field,
    { filename, name: filename, charset: 'UTF-8', type, ...(contentId && { 'content-id': contentId }) },
  ]);
  const parsed = {
    headers: mail.headers.map(({ name, value }) => `${name}: ${value}\n`).join(''),
    text: mail.text,
    ...(mail.html && { html: mail.html }),
    attachments: String(files.length),
    ...(files.length > 0 && { 'attachment-info': JSON.stringify(Object.fromEntries(info)) }),
    ...contentIdsOf('content-ids', files),
  };
  const fields = {
    ...(isRaw ? { email: Buffer.from(mail.raw).toString() } : parsed),
    dkim: 'none',
    to: mail.to.map(writtenMailbox).join(', '),
    ...(mail.cc.length > 0 && { cc: mail.cc.map(writtenMailbox).join(', ') }),
    from: writtenMailbox(mail.from),
    subject: mail.subject,
    sender_ip: '127.0.0.1',
    SPF: 'none',
    spam_score: '0.0',
    envelope: JSON.stringify({ to: [mail.rcptTo], from: mail.mailFrom }),
    charsets: CHARSETS,
  };
  const { type, body } = writeForm(fields, files, mail.id);
  const posting = signed(type, body, secrets, now);
  return { ...posting, headers: { ...posting.headers, ...basicAuthorization(secrets) } };
}
