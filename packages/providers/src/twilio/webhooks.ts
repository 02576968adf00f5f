import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { InboundMail, OutcomeEvent, Posting, Signing } from '../provider.ts';
import type { GivenSms } from './messages.ts';
import { numberOfAddress, segmentsOf } from './numbers.ts';

const API_VERSION = '2010-04-01';

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

export const makeSecrets = async (): Promise<Record<string, string>> => ({
  accountSid: `AC${hex(16)}`,
  authToken: hex(16),
});

/** Signs the URL and the sorted parameters with HMAC-SHA1: https://www.twilio.com/docs/usage/security */
function posting(id: string, fields: Record<string, string>, { url, secrets }: Signing): Posting {
  const names = Object.keys(fields).sort();
  const hmac = createHmac('sha1', secrets.authToken ?? '');
  hmac.update(url + names.map((name) => `${name}${fields[name]}`).join(''));
  return {
    headers: {
      'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
      'user-agent': 'TwilioProxy/1.1',
      'i-twilio-idempotency-token': id,
      'x-twilio-signature': hmac.digest('base64'),
    },
    body: Buffer.from(new URLSearchParams(fields).toString()),
  };
}

/**
 * Error codes: unknown or unreachable destination handset. Twilio has no events for other outcomes; STOP is a reply.
 */
const ERRORS: Partial<Record<OutcomeEvent['outcome'], string>> = { bounce: '30005', 'soft-bounce': '30003' };

/** The status callback request. */
export function event({ id, outcome, sending }: OutcomeEvent, signing: Signing): Posting | undefined {
  const ErrorCode = ERRORS[outcome];
  if (ErrorCode === undefined) return undefined;
  const { accountSid, from, to, service } = sending.given as unknown as GivenSms;
  const { providerId } = sending;
  const fields = {
    ...{ MessageSid: providerId, SmsSid: providerId, AccountSid: accountSid, ApiVersion: API_VERSION },
    ...{ From: from, To: to, MessageStatus: 'undelivered', SmsStatus: 'undelivered', ErrorCode },
    ...(service !== undefined && { MessagingServiceSid: service }),
  };
  return posting(id, fields, signing);
}

/** The request to a number's webhook for incoming messages. */
export function inbound(mail: InboundMail, signing: Signing): Posting {
  const sid = `SM${createHash('sha256').update(mail.id).digest('hex').slice(0, 32)}`;
  const media = mail.attachments.flatMap(({ contentType, content }, index) => [
    [`MediaContentType${index}`, contentType],
    [`MediaUrl${index}`, `data:${contentType};base64,${Buffer.from(content).toString('base64')}`],
  ]);
  const fields = {
    ...{ MessageSid: sid, SmsSid: sid, SmsMessageSid: sid, AccountSid: signing.secrets.accountSid ?? '' },
    ...{ From: numberOfAddress(mail.from.address), To: mail.to[0]?.name || numberOfAddress(mail.rcptTo) },
    ...{ Body: mail.reply, NumSegments: String(segmentsOf(mail.reply)), SmsStatus: 'received' },
    ...{ NumMedia: String(mail.attachments.length), ApiVersion: API_VERSION },
    ...Object.fromEntries(media),
  };
  return posting(mail.id, fields, signing);
}
