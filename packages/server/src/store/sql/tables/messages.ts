import type { Generated } from 'kysely';

/** Messages, and the raw sources that they share. */
export interface MessageTables {
  account_orders: AccountOrdersTable;
  messages: MessagesTable;
  sources: SourcesTable;
  source_pieces: SourcePiecesTable;
  shared_sources: SharedSourcesTable;
  parked_sources: ParkedSourcesTable;
}

/** A mail as shown in one inbox. Its id carries `received_at`, so the key finds it by id as well. */
interface MessagesTable {
  inbox_seq: number;
  received_at: number;
  id: string;
  source_seq: number;
  /** JSON text of the list. */
  rcpt_to: string;
  account_seq: number;
  /** Strictly increasing within the account, in the order of the commits. */
  account_order: number;
  /** Epoch milliseconds; null for a message that is not marked as read. */
  read_at: Generated<number | null>;
  /** JSON text of the list. */
  tags: Generated<string>;
}

/** The order of an account's messages; an account that never got one has no row. */
interface AccountOrdersTable {
  account_seq: number;
  /** The largest `account_order` of a message so far. */
  last: number;
}

/**
 * The part of a mail that all its inboxes share, stored once. The columns are ordered by size and use: SQLite
 * reads a row up to the last selected column.
 */
interface SourcesTable {
  seq: Generated<number>;
  /** Bytes of the whole raw source. */
  size: number;
  /** JSON text, or null. */
  parse_error: string | null;
  /** UTF-8 JSON of a MailSummary. */
  summary: Uint8Array;
  /** JSON text of a MailEnvelope. */
  envelope: string;
  /** UTF-8 JSON of a MailContent. */
  content: Uint8Array;
  /** The raw source's piece 0; nearly every mail has no other. */
  raw: Uint8Array;
}

/** The raw source's pieces from 1 on. */
interface SourcePiecesTable {
  source_seq: number;
  piece: number;
  bytes: Uint8Array;
}

/** The number of messages of a source that had more than one. */
interface SharedSourcesTable {
  source_seq: number;
  messages: number;
}

/** Large sources without messages: those that are deleted in steps, and those that are being written. */
interface ParkedSourcesTable {
  source_seq: number;
  /** A name that the writer of a source gave it until its message is committed; null where it is to be deleted. */
  stage: Generated<string | null>;
}
