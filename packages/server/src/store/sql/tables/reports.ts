/** What reports of test runs show of waits and of deleted inboxes. */
export interface ReportTables {
  inbox_waits: InboxWaitsTable;
  deleted_inboxes: DeletedInboxesTable;
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
