import { createHash, createHmac, randomBytes } from 'node:crypto';
import { writtenMailbox } from '../address-list.ts';
import { contentIdsOf, filesOf, writeForm } from '../form.ts';
import type { InboundMail, Outcome, OutcomeEvent, Posting, Signing } from '../provider.ts';

/** https://documentation.mailgun.com/docs/mailgun/user-manual/webhooks/webhook-payloads */
const OUTCOMES: Record<Outcome, object> = {
  bounce: failed(
    'permanent',
    'bounce',
    550,
    '5.1.1',
    'The email account that you tried to reach does not exist.',
  ),
  'soft-bounce': failed(
    'temporary',
    'generic',
    452,
    '4.2.2',
    'The email account that you tried to reach is over quota.',
  ),
  delay: failed('temporary', 'generic', 451, '4.4.1', 'Try again later.'),
  complaint: { event: 'complained', 'log-level': 'warn' },
  unsubscribe: { event: 'unsubscribed', 'log-level': 'info' },
};

function failed(severity: string, reason: string, code: number, enhanced: string, message: string): object {
  return {
    ...{ event: 'failed', severity, reason, 'log-level': severity === 'permanent' ? 'error' : 'warn' },
    'delivery-status': {
      ...{ 'attempt-no': 1, message: `${code} ${enhanced} ${message}`, code, 'enhanced-code': enhanced },
      ...{
        description: '',
        'session-seconds': 0.1,
        tls: true,
        ...(severity === 'temporary' && { 'retry-seconds': 600 }),
      },
    },
  };
}

export const makeSecrets = async (): Promise<Record<string, string>> => ({
  signingKey: randomBytes(16).toString('hex'),
});

/** The token is the same in all attempts, because receivers use it to drop duplicates. */
function signatureOf(
  id: string,
  { secrets, now }: Signing,
): { timestamp: string; token: string; signature: string } {
  const timestamp = String(Math.floor(now / 1000));
  const token = createHash('sha256').update(id).digest('hex').slice(0, 50);
  const signature = createHmac('sha256', secrets.signingKey ?? '')
    .update(timestamp + token)
    .digest('hex');
  return { timestamp, token, signature };
}

export function event({ id, outcome, recipient, at, sending }: OutcomeEvent, signing: Signing): Posting {
  const { tags = [], variables = {} } = sending.given as { tags?: string[]; variables?: object };
  const data = {
    ...OUTCOMES[outcome],
    ...{ id: Buffer.from(id).toString('base64url').slice(0, 22), timestamp: at / 1000 },
    ...{
      recipient,
      'recipient-domain': recipient.split('@')[1] ?? '',
      tags,
      campaigns: [],
      'user-variables': variables,
    },
    flags: { 'is-routed': false, 'is-authenticated': true, 'is-system-test': false, 'is-test-mode': false },
    envelope: { sender: sending.mailFrom, targets: recipient, transport: 'smtp' },
    message: {
      headers: {
        ...{ to: sending.recipients.join(', '), from: sending.mailFrom, subject: sending.subject },
        'message-id': sending.providerId.replace(/^<|>$/g, ''),
      },
      ...{ attachments: [], size: 0 },
    },
  };
  return {
    headers: { 'content-type': 'application/json', 'user-agent': 'mailgun/treq' },
    body: Buffer.from(JSON.stringify({ signature: signatureOf(id, signing), 'event-data': data })),
  };
}

/** The request of a route's `forward()`: parsed fields, or the raw mail for a URL that ends with `mime`. */
export function inbound(mail: InboundMail, signing: Signing): Posting {
  const isRaw = new URL(signing.url).pathname.endsWith('mime');
  const files = isRaw ? [] : filesOf(mail, 'attachment-');
  const parsed = {
    ...Object.fromEntries(mail.headers.map(({ name, value }) => [name, value])),
    'message-headers': JSON.stringify(mail.headers.map(({ name, value }) => [name, value])),
    ...{ 'body-plain': mail.text, 'stripped-text': mail.reply, 'stripped-signature': '' },
    ...(mail.html && { 'body-html': mail.html, 'stripped-html': mail.html }),
    ...(files.length > 0 && { 'attachment-count': String(files.length) }),
    ...contentIdsOf('content-id-map', files, (id) => `<${id}>`),
  };
  const fields = {
    ...(isRaw ? { 'body-mime': Buffer.from(mail.raw).toString() } : parsed),
    ...{
      recipient: mail.rcptTo,
      sender: mail.mailFrom,
      from: writtenMailbox(mail.from),
      subject: mail.subject,
    },
    ...signatureOf(mail.id, signing),
  };
  const { type, body } = writeForm(fields, files, mail.id);
  return { headers: { 'content-type': type, 'user-agent': 'mailgun/treq' }, body };
}
