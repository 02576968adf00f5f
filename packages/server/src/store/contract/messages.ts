import type { MailAuthentication, MailContent, MailSummary } from '../../mail/mail.ts';
import type { FailedCondition } from '../../mail/matching/filters.ts';
import type { PartIndex } from '../../mail/mime/part-index.ts';
import type { Trail } from './trail.ts';

/** Messages. Part of the Store's contract. */

/**
 * The raw source is stored and read in pieces of this size, so that 50 MB never pass through memory whole,
 * and reading or freeing one piece holds its thread for well under a millisecond.
 */
export const RAW_PIECE_BYTES = 256 * 1024;

/** The envelope of a mail (RFC 5321 section 2.3.1), less its recipients. */
export interface MailEnvelope {
  /** '' is the null reverse-path. */
  mailFrom: string;
  helo: string;
  remoteAddress: string;
  tls: boolean;
}

/** A mail to be stored for one or more inboxes; its source is stored once. */
export interface NewMail {
  /**
   * Our Received line and then every byte as it came. A resizable buffer is given away to the store,
   * which takes it without a copy; it must not be read after the call.
   */
  raw: Uint8Array;
  /** UTF-8 JSON of a {@link MailSummary}. */
  summary: Uint8Array;
  /** UTF-8 JSON of a {@link StoredContent}. Given to the store as `raw` is. */
  content: Uint8Array;
  parseError: string | null;
  envelope: MailEnvelope;
  /** Null where it was not checked. */
  authentication: MailAuthentication | null;
  /** As `encodeTrail` returns it, without the commit; left out where nothing is known. */
  trail?: string;
  recipients: NewMailRecipient[];
}

export interface NewMailRecipient {
  inboxId: string;
  accountId: string;
  /** The RCPT addresses, tags and case as given, that lead to this inbox. */
  rcptTo: string[];
  maxMessages: number;
  /** A full inbox drops its oldest message in the same transaction, instead of refusing the mail. */
  evictsOldest?: true;
}

/** The result for one recipient: a message, or why there is none. */
export type Placed =
  | {
      inboxId: string;
      accountId: string;
      messageId: string;
      receivedAt: number;
      /** How many webhook deliveries were enqueued with it; left out where none was. */
      deliveries?: number;
    }
  | { inboxId: string; accountId: string; refused: 'gone' | 'full' };

export interface MessageRecord {
  id: string;
  inboxId: string;
  /** Strictly increasing within an inbox, in the order of the commits. */
  receivedAt: number;
  /** Bytes of the raw source. */
  size: number;
  /** About as many bytes as {@link FullMessageRecord.content} has as JSON. */
  contentBytes: number;
  rcptTo: string[];
  parseError: string | null;
  summary: MailSummary;
  /** When it was marked as read, epoch milliseconds; null where it is not. */
  readAt: number | null;
  tags: string[];
}

/** What to note about a message; what is left out stays. */
export interface MarkChanges {
  read?: boolean | undefined;
  tags?: string[] | undefined;
}

/** A message in a list, with its summary as stored JSON text. */
export interface MessageRow {
  id: string;
  receivedAt: number;
  size: number;
  /** JSON text of a {@link MailSummary}. */
  summary: string;
  readAt: number | null;
  /** JSON text of the list. */
  tags: string;
}

export interface AccountMessageRecord extends MessageRecord {
  /** Strictly increasing within the account, in the order of the commits; with gaps. */
  accountOrder: number;
}

/** The same of a list over all inboxes of an account. */
export interface AccountMessageRow extends MessageRow {
  inboxId: string;
  /** As in {@link AccountMessageRecord}. */
  accountOrder: number;
}

/** The messages that a search reads: those of an account, or of one of its inboxes. */
export interface SearchScope {
  accountId: string;
  inboxId?: string;
}

/**
 * A part of a range of messages, read from the newest downwards. Places are those of the account's order, or
 * in one inbox `receivedAt`.
 */
export interface NewestPage {
  /** Those of live inboxes, and of a search those that match; newest first. */
  messages: AccountMessageRow[];
  /** Every message of the range from this place on was read. */
  place: number;
  /** `receivedAt` of the message at that place; 0 where the range has none. */
  time: number;
  /** True when the range has no message below `place`. */
  isComplete: boolean;
}

/** The messages of an inbox that a call checks. */
export interface CheckRange {
  /** Only messages with `after < receivedAt < before`, epoch milliseconds. */
  after: number;
  before: number;
  order: 'oldest-first' | 'newest-first';
  /** The call ends after so many matches. */
  limit: number;
  /** Whether messages that do not match are left out of the result. */
  onlyMatches: boolean;
}

/** A message and the conditions that it does not meet; none for a match. */
export interface CheckedMessage {
  message: MessageRecord;
  /** With long values cut. */
  failed: FailedCondition[];
}

export interface CheckedPage {
  /** In the order of the range. */
  messages: CheckedMessage[];
  /** `receivedAt` of the last message that was looked at; where there was none, the beginning of the range. */
  place: number;
  /** True when the range has no message behind `place`. */
  isComplete: boolean;
}

export interface FullMessageRecord extends MessageRecord {
  accountId: string;
  envelope: MailEnvelope;
  /** Null where it was not checked. */
  authentication: MailAuthentication | null;
  /** Without the commit, which is at `receivedAt`. */
  trail: Trail;
  content: MailContent;
  /**
   * Whether `content` lacks something that the raw source has: of a large message the store returns only what
   * it can read in a few milliseconds. Bodies are then null or cut, and lists may be empty.
   */
  isPartial: boolean;
  /** Where the parts are in the raw source; null where that is not known, as of messages stored before it was. */
  index: PartIndex | null;
}
