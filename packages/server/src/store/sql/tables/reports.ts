/** What reports of test runs show of waits and of deleted inboxes. */
export interface ReportTables {
  inbox_waits: InboxWaitsTable;
  deleted_inboxes: DeletedInboxesTable;
  failed_waits: FailedWaitsTable;
}

/** The waits that were held for an inbox with labels; its row is deleted with the inbox's. */
interface InboxWaitsTable {
  inbox_seq: number;
  /** JSON text of an InboxWaits. */
  waits: string;
}

/** What reports show of inboxes with labels that were deleted, for 24 h. */
interface DeletedInboxesTable {
  id: string;
  account_id: string;
  address: string;
  /** JSON text. */
  labels: string;
  created_at: number;
  deleted_at: number;
  received_messages: number;
  first_received_at: number;
  /** JSON text of an InboxWaits; null without waits. */
  waits: string | null;
}

/** What failed waits have explained, for 24 h. */
interface FailedWaitsTable {
  id: string;
  account_id: string;
  inbox_id: string;
  ended_at: number;
  /** JSON text of what has nothing of a message's content. */
  plain: string;
  /** JSON text of what replaces parts of it while the inbox is live; null once the inbox has ended. */
  content: string | null;
}
