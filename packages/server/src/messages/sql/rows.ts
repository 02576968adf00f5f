import type { Db } from '../../database/operations.ts';
import { anyOf, constant, parseOr, parseTexts, type Sql, sql } from '../../database/sql.ts';
import type { MailAuthentication, MailEnvelope, MailSummary } from '../../mail/mail.ts';
import { ComparedContent, recentContents } from '../../mail/matching/compared-content.ts';
import { type AnyStoredContent, MAX_DERIVED_BYTES, readWords } from '../../mail/stored-content.ts';
import { decodeTrail } from '../../mail/trail.ts';
import { loadSource } from '../../reading/sources.ts';
import type { FullMessageRecord, MessageRecord, MessageRow } from '../records.ts';

const utf8 = new TextDecoder();

/** Damaged content is replaced by one that is read from the raw source. */
export const parseContent = (bytes: Uint8Array): AnyStoredContent =>
  parseOr(utf8.decode(bytes), { isUnstored: true, htmlWords: null });

const recent = recentContents();

/** Contents to compare, by message id, without deleted messages. Recent ones are cached. */
export async function readContents(
  db: Db,
  rows: readonly { id: string; source: number; size: number }[],
): Promise<ReadonlyMap<string, ComparedContent>> {
  const found = new Map<string, ComparedContent>();
  const missing = rows.filter(({ id }) => {
    const known = recent.get(id);
    if (known) found.set(id, known);
    return !known;
  });
  if (missing.length === 0) return found;
  // Messages of one mail in several inboxes share a source.
  const bySource = Map.groupBy(missing, ({ source }) => source);
  const stored = await db.all<{ seq: number; content: Uint8Array }>(
    sql`select source_seq as seq, content from readings where source_seq ${anyOf([...bySource.keys()])}`,
  );
  for (const { seq, content } of stored) {
    const messages = bySource.get(seq) ?? [];
    const size = messages[0]?.size ?? 0;
    const words = await readWords(parseContent(content), size, () => loadSource(db, seq));
    const compared = new ComparedContent(words);
    for (const { id } of messages) {
      found.set(id, compared);
      recent.set(id, compared);
    }
  }
  return found;
}

const UNREADABLE: MailSummary = {
  ...{ from: null, to: [], cc: [], subject: '', preview: '' },
  ...{ attachmentCount: 0, inlineCount: 0, codes: [] },
};
const UNREADABLE_NOTE =
  'The stored summary of this message is damaged, so its fields are empty. Read the raw source instead.';

const isSummary = (stored: MailSummary | null): stored is MailSummary =>
  Array.isArray(stored?.to) && Array.isArray(stored.cc) && Array.isArray(stored.codes);

function readSummary(text: string): MailSummary {
  const stored = parseOr<MailSummary | null>(text, null);
  return isSummary(stored) ? stored : UNREADABLE;
}

/** An empty summary if the stored one is damaged. */
export const parseSummary = (bytes: Uint8Array): MailSummary => readSummary(utf8.decode(bytes));

function summaryText(bytes: Uint8Array): string {
  const text = utf8.decode(bytes);
  return readSummary(text) === UNREADABLE ? JSON.stringify(UNREADABLE) : text;
}

/** Those of `readings r` are null while a mail is unread. */
export const WITH_READING: Sql = constant('left join readings r on r.source_seq = m.source_seq');
/** Of `messages m` {@link WITH_READING}. */
export const LISTED_COLUMNS: Sql = constant(
  'm.id, m.received_at as "receivedAt", m.source_seq as source, m.read_at as "readAt", m.tags, r.size, r.summary',
);
/** As {@link LISTED_COLUMNS}. */
export const MESSAGE_COLUMNS: Sql = sql`${LISTED_COLUMNS}, m.rcpt_to as "rcptTo", r.parse_error as "parseError",
  length(r.content) as "contentBytes"`;

export type ListedMessage = Omit<MessageRow, 'summary'> & { source: number; summary: Uint8Array };

export interface StoredMessage extends ListedMessage {
  rcptTo: string;
  parseError: string | null;
  contentBytes: number;
}

export function toMessage(inboxId: string, row: StoredMessage): MessageRecord {
  const { id, receivedAt, size, readAt } = row;
  const summary = parseSummary(row.summary);
  const parseError = row.parseError === null ? null : parseOr(row.parseError, UNREADABLE_NOTE);
  return {
    ...{ id, inboxId, receivedAt, size, readAt, summary },
    contentBytes: row.contentBytes + (size <= MAX_DERIVED_BYTES ? size : 0),
    rcptTo: parseTexts(row.rcptTo),
    tags: parseTexts(row.tags),
    parseError: summary === UNREADABLE ? UNREADABLE_NOTE : parseError,
  };
}

export const toRow = ({ id, receivedAt, size, readAt, summary, tags }: ListedMessage): MessageRow => ({
  ...{ id, receivedAt, size, readAt, summary: summaryText(summary) },
  // Most messages have none.
  tags: tags === '[]' ? tags : JSON.stringify(parseTexts(tags)),
});

/** Shown for a damaged envelope. */
const UNKNOWN_ENVELOPE: MailEnvelope & { trail?: string } = {
  ...{ mailFrom: '', helo: '', remoteAddress: '', tls: false },
};

export function readEnvelope(
  text: string,
  reading: { trail: string; authentication: string | null },
): Pick<FullMessageRecord, 'envelope' | 'authentication' | 'trail'> {
  const { trail = '', ...envelope } = parseOr(text, UNKNOWN_ENVELOPE);
  return {
    envelope,
    authentication: parseOr<MailAuthentication | null>(reading.authentication ?? 'null', null),
    trail: [...decodeTrail(trail), ...decodeTrail(reading.trail)],
  };
}

/** Replaces infinity, which the engines do not know. */
export const bounded = ({ after, before, limit }: { after: number; before: number; limit: number }) => ({
  after: Math.max(after, -1),
  before: Math.min(before, Number.MAX_SAFE_INTEGER),
  limit,
});
