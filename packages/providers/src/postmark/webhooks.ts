import { createHash } from 'node:crypto';
import { writtenMailbox } from '../address-list.ts';
import { basicAuthorization } from '../basic-authentication.ts';
import type { Mailbox } from '../given.ts';
import type { InboundMail, Outcome, OutcomeEvent, Posting, Signing } from '../provider.ts';

/** https://postmarkapp.com/developer/webhooks/bounce-webhook */
const BOUNCES: Record<Exclude<Outcome, 'unsubscribe'>, object> = {
  bounce: {
    ...{ RecordType: 'Bounce', Type: 'HardBounce', TypeCode: 1, Name: 'Hard bounce', Inactive: true },
    Description: 'The server was unable to deliver your message (ex: unknown user, mailbox not found).',
    Details: 'smtp;550 5.1.1 The email account that you tried to reach does not exist.',
  },
  'soft-bounce': {
    ...{ RecordType: 'Bounce', Type: 'SoftBounce', TypeCode: 4096, Name: 'Soft bounce', Inactive: false },
    Description:
      'Unable to temporarily deliver message (i.e. mailbox full, account disabled, exceeds quota, out of disk space).',
    Details: 'smtp;452 4.2.2 The email account that you tried to reach is over quota.',
  },
  delay: {
    ...{
      RecordType: 'Bounce',
      Type: 'Transient',
      TypeCode: 2,
      Name: 'Message delayed/Undeliverable',
      Inactive: false,
    },
    Description:
      'The server could not temporarily deliver your message (ex: Message is delayed due to network troubles).',
    Details: 'smtp;451 4.4.1 Try again later.',
  },
  complaint: {
    ...{
      RecordType: 'SpamComplaint',
      Type: 'SpamComplaint',
      TypeCode: 100001,
      Name: 'Spam complaint',
      Inactive: true,
    },
    Description: 'The subscriber explicitly marked this message as spam.',
    Details: 'Test spam complaint details',
  },
};

/** Postmark does not sign webhooks; they use basic authentication. */
const posting = (value: object, { secrets }: Signing): Posting => ({
  headers: {
    ...{ 'content-type': 'application/json', 'user-agent': 'Postmark' },
    ...basicAuthorization(secrets),
  },
  body: Buffer.from(JSON.stringify(value)),
});

export function event({ id, outcome, recipient, at, sending }: OutcomeEvent, signing: Signing): Posting {
  const { tag, metadata, stream } = sending.given as { tag?: string; metadata?: object; stream?: string };
  const common = {
    ...{ MessageID: sending.providerId, ServerID: 1, MessageStream: stream ?? 'outbound' },
    ...{ Metadata: metadata ?? {}, ...(tag !== undefined && { Tag: tag }) },
  };
  const time = new Date(at).toISOString();
  if (outcome === 'unsubscribe')
    return posting(
      {
        ...{ RecordType: 'SubscriptionChange', ...common, ChangedAt: time, Recipient: recipient },
        ...{ Origin: 'Recipient', SuppressSending: true, SuppressionReason: 'ManualSuppression' },
      },
      signing,
    );
  // A number derived from the event's id, so it is unique and the same in each attempt.
  const ID = createHash('sha256').update(id).digest().readUIntBE(0, 6);
  return posting(
    {
      ...{ ...BOUNCES[outcome], ID, ...common, Email: recipient, From: sending.mailFrom, BouncedAt: time },
      ...{ DumpAvailable: false, CanActivate: true, Subject: sending.subject },
    },
    signing,
  );
}

/** The part after the plus of an address such as `inbox+hash@example.com`. */
const hashOf = (address: string): string => /\+([^@]*)@/.exec(address)?.[1] ?? '';

const full = ({ name, address }: Mailbox) => ({ Email: address, Name: name, MailboxHash: hashOf(address) });

/** Header fields for which Postmark has separate properties. */
const STATED =
  /^(?:from|to|cc|bcc|reply-to|subject|date|content-type|content-transfer-encoding|return-path)$/i;

/**
 * https://postmarkapp.com/developer/webhooks/inbound-webhook, including the raw mail, which is optional in Postmark.
 */
export function inbound(mail: InboundMail, signing: Signing): Posting {
  const headerOf = (field: string): string =>
    mail.headers.find(({ name }) => name.toLowerCase() === field)?.value ?? '';
  const lists = (field: string, mailboxes: readonly Mailbox[]) => ({
    [field]: mailboxes.map(writtenMailbox).join(', '),
    [`${field}Full`]: mailboxes.map(full),
  });
  const body = {
    ...{
      From: mail.from.address,
      FromName: mail.from.name,
      FromFull: full(mail.from),
      MessageStream: 'inbound',
    },
    ...{ ...lists('To', mail.to), ...lists('Cc', mail.cc), ...lists('Bcc', []) },
    ...{
      OriginalRecipient: mail.rcptTo,
      Subject: mail.subject,
      MessageID: mail.id,
      ReplyTo: headerOf('reply-to'),
    },
    ...{ MailboxHash: hashOf(mail.rcptTo), Date: headerOf('date'), TextBody: mail.text, HtmlBody: mail.html },
    ...{ StrippedTextReply: mail.reply, Tag: '', RawEmail: Buffer.from(mail.raw).toString() },
    Headers: [
      { name: 'Return-Path', value: `<${mail.mailFrom}>` },
      ...mail.headers.filter(({ name }) => !STATED.test(name)),
    ].map(({ name, value }) => ({ Name: name, Value: value })),
    Attachments: mail.attachments.map(({ filename, content, contentType, contentId }) => ({
      ...{ Name: filename, Content: Buffer.from(content).toString('base64'), ContentType: contentType },
      ...{ ContentLength: content.length, ContentID: contentId },
    })),
  };
  return posting(body, signing);
}
