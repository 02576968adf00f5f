import { createSign } from 'node:crypto';
import type { Posting, Secrets, Signing } from '../provider.ts';
import { xml } from './xml.ts';

// Amazon SNS, which posts SES's notifications to the application's URL.

/** The account id in the examples of AWS's documentation. */
export const AWS_ACCOUNT = '123456789012';
export const TOPIC = `arn:aws:sns:us-east-1:${AWS_ACCOUNT}:mayfly`;
const CERTIFICATE = 'SimpleNotificationService.pem';
export const SUBSCRIPTION = `${TOPIC}:00000000-0000-4000-8000-000000000000`;

const DAY_MS = 86_400_000;
/** Longer than a test environment keeps the same key. */
const CERTIFICATE_DAYS = 3_650;

/**
 * Creates a key with a self-signed certificate. Some verifiers check that its issuer is Amazon, but none
 * checks the chain.
 */
export async function makeSecrets(): Promise<Record<string, string>> {
  // Loaded on first use, to keep the start fast.
  const { generate } = await import('selfsigned');
  const now = Date.now();
  const names = { commonName: 'sns.amazonaws.com', organizationName: 'Amazon' };
  const attributes = Object.entries(names).map(([name, value]) => ({ name, value }));
  const made = await generate(attributes, {
    ...{ keyType: 'rsa', keySize: 2048, algorithm: 'sha256' },
    notBeforeDate: new Date(now - DAY_MS),
    notAfterDate: new Date(now + CERTIFICATE_DAYS * DAY_MS),
  });
  return { privateKey: made.private, certificate: made.cert };
}

type Fields = Readonly<Record<string, string>>;

/** Signed fields in their order; fields that a message lacks are skipped. */
const SIGNED = ['Message', 'MessageId', 'Subject', 'SubscribeURL', 'Timestamp', 'Token', 'TopicArn', 'Type'];

function posting(message: Fields, { secrets, baseUrl, url, now }: Signing): Posting {
  const signed: Fields = { ...message, TopicArn: TOPIC, Timestamp: new Date(now).toISOString() };
  // SNS uses signature version 1 unless the topic is configured for 2; here the query of the URL selects it.
  const version = new URL(url).searchParams.get('SignatureVersion') === '2' ? '2' : '1';
  const signer = createSign(version === '2' ? 'RSA-SHA256' : 'RSA-SHA1');
  for (const name of SIGNED) if (signed[name] !== undefined) signer.update(`${name}\n${signed[name]}\n`);
  const body = {
    ...signed,
    SignatureVersion: version,
    Signature: signer.sign(secrets.privateKey ?? '', 'base64'),
    SigningCertURL: `${baseUrl}/${CERTIFICATE}`,
    ...(message.Type === 'Notification' && {
      UnsubscribeURL: `${baseUrl}/?Action=Unsubscribe&SubscriptionArn=${SUBSCRIPTION}`,
    }),
  };
  return {
    headers: {
      ...{
        'content-type': 'text/plain; charset=UTF-8',
        'user-agent': 'Amazon Simple Notification Service Agent',
      },
      'x-amz-sns-message-type': message.Type ?? '',
      'x-amz-sns-message-id': message.MessageId ?? '',
      'x-amz-sns-topic-arn': TOPIC,
      ...(message.Type === 'Notification' && { 'x-amz-sns-subscription-arn': SUBSCRIPTION }),
    },
    body: Buffer.from(JSON.stringify(body)),
  };
}

/** @param id the same in all delivery attempts */
export function notification(id: string, subject: string, message: object, signing: Signing): Posting {
  const Message = JSON.stringify(message);
  return posting({ Type: 'Notification', MessageId: id, Subject: subject, Message }, signing);
}

/** The first message to a URL, whose SubscribeURL the application must request. */
export function handshake(id: string, signing: Signing): Posting {
  const Token = Buffer.from(id).toString('hex');
  const parameters = new URLSearchParams({ Action: 'ConfirmSubscription', TopicArn: TOPIC, Token });
  return posting(
    {
      ...{ Type: 'SubscriptionConfirmation', MessageId: id, Token },
      Message: `You have chosen to subscribe to the topic ${TOPIC}.\nTo confirm the subscription, visit the SubscribeURL included in this message.`,
      SubscribeURL: `${signing.baseUrl}/?${parameters}`,
    },
    signing,
  );
}

/** The certificate, and the response to SubscribeURL. */
export function files(path: string, secrets: Secrets): { type: string; body: string } | undefined {
  if (path === `/${CERTIFICATE}`) return { type: 'application/x-pem-file', body: secrets.certificate ?? '' };
  if (path !== '/') return undefined;
  const { type, body } = xml('ConfirmSubscriptionResponse', {
    ConfirmSubscriptionResult: { SubscriptionArn: SUBSCRIPTION },
  });
  return { type, body: String(body) };
}
