import type { Range } from '../database/sql.ts';
import type { MailAuthentication, MailContent, MailEnvelope, MailSummary } from '../mail/mail.ts';
import type { FailedCondition } from '../mail/matching/filters.ts';
import type { PartIndex } from '../mail/mime/part-index.ts';
import type { Trail } from '../mail/trail.ts';
import type { NewSource } from '../reading/sql.ts';

export interface NewMail extends NewSource {
  checks: boolean;
  /** Id of a pending row of `outgoing`. The transaction that stores the mail sets the row to `delivered`. */
  outgoing?: string | undefined;
  recipients: NewMailRecipient[];
}

export interface NewMailRecipient {
  inboxId: string;
  accountId: string;
  /** The RCPT addresses as the sender wrote them, with tags and in the original case. */
  rcptTo: string[];
  maxMessages: number;
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
  /** Size of the raw source, bytes. */
  size: number;
  /** Approximate size of {@link FullMessageRecord.content} as JSON, bytes. */
  contentBytes: number;
  rcptTo: string[];
  /** True unless {@link rcptTo} is only the address of the inbox. */
  isToOther?: boolean;
  parseError: string | null;
  summary: MailSummary;
  /** When a client marked the message as read, epoch milliseconds; null if it is unread. */
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
  /** JSON of the RCPT addresses; null if the only one is the address of the inbox. */
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

/** A page of messages. `place` is an `accountOrder`, or a `receivedAt` if only one inbox was read. */
export interface NewestPage {
  /** Messages of live inboxes, newest first. A search returns only matches. */
  messages: AccountMessageRow[];
  /** Place of the oldest message that was read, whether it is in `messages` or not. */
  place: number;
  /** `receivedAt` of the message at that place; 0 for an empty range. */
  time: number;
  isComplete: boolean;
}

/** `before` is set only when a page is read again after its mails were parsed. */
export type OpenRange = Omit<Range, 'before'> & { before?: number };

/** `limit` counts matches. `oldest-first` also returns messages that do not match; waits report them. */
export interface CheckRange extends Range {
  order: 'oldest-first' | 'newest-first';
}

export interface CheckedMessage {
  message: MessageRecord;
  /** Conditions that the message does not meet, with long values truncated; empty for a match. */
  failed: FailedCondition[];
}

export interface CheckedPage {
  messages: CheckedMessage[];
  /** `receivedAt` of the last message read. If none: `after` if `oldest-first`, else `before`. */
  place: number;
  isComplete: boolean;
}

export interface FullMessageRecord extends MessageRecord {
  accountId: string;
  envelope: Omit<MailEnvelope, 'given'>;
  given?: MailEnvelope['given'];
  authentication: MailAuthentication | null;
  /** All steps of the mail through the server except the commit, whose time is `receivedAt`. */
  trail: Trail;
  content: MailContent;
  /** True if only a part of a large content is stored: bodies may be null or truncated, and lists empty. */
  isPartial: boolean;
  index: PartIndex | null;
}
