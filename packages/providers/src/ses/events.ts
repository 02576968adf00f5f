import { shownMailbox } from '../address-list.ts';
import type { InboundMail, OutcomeEvent, Posting, Signing } from '../provider.ts';
import type { GivenOfSes } from './send.ts';
import { AWS_ACCOUNT, notification, TOPIC } from './sns.ts';

const REPORTER = 'dns; mayfly';
/** How long SES retries a delayed mail. */
const TRIES_MS = 14 * 3_600_000;

const iso = (time: number): string => new Date(time).toISOString();

const BOUNCES = {
  bounce: {
    type: 'Permanent',
    recipient: { status: '5.1.1', diagnosticCode: 'smtp; 550 5.1.1 user unknown' },
  },
  'soft-bounce': {
    type: 'Transient',
    recipient: { status: '4.2.2', diagnosticCode: 'smtp; 452 4.2.2 mailbox full' },
  },
} as const;

type Detail = { eventType: string } & Record<string, unknown>;

/** The details of an outcome in SES's format; undefined for an unsubscription without a contact list. */
function detailOf({ id, outcome, recipient, at, sending }: OutcomeEvent): Detail | undefined {
  const { contactList, topic } = sending.given as Partial<GivenOfSes>;
  const common = { timestamp: iso(at), feedbackId: id };
  const emailAddress = recipient;
  switch (outcome) {
    case 'bounce':
    case 'soft-bounce': {
      const { type, recipient } = BOUNCES[outcome];
      const bouncedRecipients = [{ emailAddress, action: 'failed', ...recipient }];
      const bounceSubType = outcome === 'bounce' ? 'General' : 'MailboxFull';
      const kind = { bounceType: type, bounceSubType, reportingMTA: REPORTER };
      return { eventType: 'Bounce', bounce: { ...kind, bouncedRecipients, ...common } };
    }
    case 'complaint': {
      const kind = { complaintSubType: null, complaintFeedbackType: 'abuse', userAgent: 'Mayfly' };
      const complainedRecipients = [{ emailAddress }];
      return {
        eventType: 'Complaint',
        complaint: { ...kind, complainedRecipients, ...common, arrivalDate: iso(at) },
      };
    }
    case 'delay': {
      const delayed = { emailAddress, status: '4.4.1', diagnosticCode: 'smtp; 421 4.4.1 Unable to connect' };
      const kind = { delayType: 'IPFailure', expirationTime: iso(sending.sentAt + TRIES_MS) };
      return {
        eventType: 'DeliveryDelay',
        deliveryDelay: { ...kind, delayedRecipients: [delayed], timestamp: iso(at), reportingMTA: REPORTER },
      };
    }
    case 'unsubscribe': {
      if (contactList === undefined) return undefined;
      const preferences = (status: 'OptIn' | 'OptOut') => ({
        unsubscribeAll: topic === undefined && status === 'OptOut',
        topicSubscriptionStatus: topic ? [{ topicName: topic, subscriptionStatus: status }] : [],
      });
      const [newTopicPreferences, oldTopicPreferences] = [preferences('OptOut'), preferences('OptIn')];
      const kind = { contactList, timestamp: iso(at), source: 'UnsubscribeHeader' };
      return {
        eventType: 'Subscription',
        subscription: { ...kind, newTopicPreferences, oldTopicPreferences },
      };
    }
  }
}

/**
 * Mails with a configuration set produce events with `eventType` and tags; others produce feedback
 * notifications with `notificationType`.
 */
export function event(given: OutcomeEvent, signing: Signing): Posting | undefined {
  const detail = detailOf(given);
  if (!detail) return undefined;
  const { eventType, ...rest } = detail;
  const { sending } = given;
  const facts = sending.given as Partial<GivenOfSes>;
  const hasSet = facts.configurationSet !== undefined;
  const isFeedback = !hasSet && (eventType === 'Bounce' || eventType === 'Complaint');
  const [from, to, messageId] = [facts.from ?? sending.mailFrom, facts.to ?? [], facts.messageId ?? ''];
  const { subject } = sending;
  const mail = {
    ...{ timestamp: iso(sending.sentAt), source: from, messageId: sending.providerId },
    sourceArn: `arn:aws:ses:us-east-1:${AWS_ACCOUNT}:identity/${sending.mailFrom}`,
    ...{ sendingAccountId: AWS_ACCOUNT, destination: sending.recipients },
    ...{ headersTruncated: facts.headersTruncated ?? false, headers: facts.headers ?? [] },
    commonHeaders: { from: [from], to, messageId, subject },
    ...(hasSet && { tags: { 'ses:configuration-set': [facts.configurationSet], ...facts.tags } }),
  };
  const message = { [isFeedback ? 'notificationType' : 'eventType']: eventType, ...rest, mail };
  const title = isFeedback ? 'Amazon SES Email Receipt Notification' : 'Amazon SES Email Event Notification';
  return notification(given.id, title, message, signing);
}

/** A notification like the SNS action of a receipt rule, with the mail in base64. */
export function inbound(mail: InboundMail, signing: Signing): Posting {
  const pass = { status: 'PASS' };
  const [from, to, cc] = [[mail.from], mail.to, mail.cc].map((list) => list.map(shownMailbox));
  const { subject, messageId } = mail;
  const date = mail.headers.find(({ name }) => name.toLowerCase() === 'date')?.value;
  const message = {
    notificationType: 'Received',
    mail: {
      ...{ timestamp: iso(mail.at), source: mail.mailFrom, messageId: mail.id, destination: [mail.rcptTo] },
      ...{ headersTruncated: false, headers: mail.headers },
      commonHeaders: { returnPath: mail.mailFrom, from, date, to, cc, messageId, subject },
    },
    receipt: {
      ...{ timestamp: iso(mail.at), processingTimeMillis: 0, recipients: [mail.rcptTo] },
      ...{ spamVerdict: pass, virusVerdict: pass, spfVerdict: pass, dkimVerdict: pass, dmarcVerdict: pass },
      action: { type: 'SNS', topicArn: TOPIC, encoding: 'BASE64' },
    },
    content: Buffer.from(mail.raw).toString('base64'),
  };
  return notification(mail.id, 'Amazon SES Email Receipt Notification', message, signing);
}
