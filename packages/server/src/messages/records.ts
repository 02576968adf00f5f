import type { MailAuthentication, MailContent, MailEnvelope, MailSummary } from '../mail/mail.ts';
import type { FailedCondition } from '../mail/matching/filters.ts';
import type { PartIndex } from '../mail/mime/part-index.ts';
import type { Trail } from '../mail/trail.ts';
import type { NewSource } from '../reading/sql.ts';

export interface NewMail extends NewSource {
  checks: boolean;
  /** Id of its row of `outgoing`. The mail is stored only while that is pending, and completes it. */
  outgoing?: string | undefined;
  recipients: NewMailRecipient[];
}

export interface NewMailRecipient {
  inboxId: string;
  accountId: string;
  /** The RCPT addresses as given, with tags and case. */
  rcptTo: string[];
  maxMessages: number;
  /** A full inbox drops its oldest message instead of rejecting the mail. */
  evictsOldest?: boolean | undefined;
}

export type Placed =
  | {
      inboxId: string;
      accountId: string;
      messageId: string;
      receivedAt: number;
      source: number;
      deliveries?: number;
      hasOutcome?: true;
    }
  | { inboxId: string; accountId: string; refused: 'gone' | 'full' };

export interface MessageRecord {
  id: string;
  inboxId: string;
  /** Strictly increasing within an inbox, in the order of the commits. */
  receivedAt: number;
  /** Of the raw source, bytes. */
  size: number;
  /** Approximate size of {@link FullMessageRecord.content} as JSON, bytes. */
  contentBytes: number;
  rcptTo: string[];
  /** Whether {@link rcptTo} is more than the address of the inbox. */
  isToOther?: boolean;
  parseError: string | null;
  summary: MailSummary;
  /** Epoch milliseconds; null if unread. */
  readAt: number | null;
  tags: string[];
}

/** `summary`, `tags` and `otherRcptTo` are JSON texts. */
export interface MessageRow {
  id: string;
  inboxId: string;
  receivedAt: number;
  size: number;
  summary: string;
  readAt: number | null;
  tags: string;
  /** Null where it is just the address of the inbox. */
  otherRcptTo: string | null;
}

export interface AccountMessageRow extends MessageRow {
  /** Strictly increasing within the account, with gaps. */
  accountOrder: number;
}

export interface SearchScope {
  accountId: string;
  inboxId?: string;
}

/** A page of the newest messages. A place is a number in the account's order, or `receivedAt` within one inbox. */
export interface NewestPage {
  /** Newest first. Only those of live inboxes; for a search, only matches. */
  messages: AccountMessageRow[];
  /** Every message of the range from this place on was read. */
  place: number;
  /** `receivedAt` of the message at that place; 0 for an empty range. */
  time: number;
  /** True if the range has no message below `place`. */
  isComplete: boolean;
}

export interface CheckRange {
  /** Only messages with `after < receivedAt < before`, epoch milliseconds. */
  after: number;
  before: number;
  order: 'oldest-first' | 'newest-first';
  limit: number;
  onlyMatches: boolean;
}

export interface CheckedMessage {
  message: MessageRecord;
  /** Conditions that the message does not meet, with long values cut; empty for a match. */
  failed: FailedCondition[];
}

export interface CheckedPage {
  messages: CheckedMessage[];
  /** `receivedAt` of the last message that was read, or the beginning of the range. */
  place: number;
  isComplete: boolean;
}

export interface FullMessageRecord extends MessageRecord {
  accountId: string;
  envelope: Omit<MailEnvelope, 'given'>;
  given?: MailEnvelope['given'];
  authentication: MailAuthentication | null;
  /** All steps but the commit, whose time is `receivedAt`. */
  trail: Trail;
  content: MailContent;
  /** The store reads only a part of a large message: bodies may be null or cut, and lists empty. */
  isPartial: boolean;
  index: PartIndex | null;
}
