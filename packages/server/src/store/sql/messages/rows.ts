import { type RawBuilder, sql } from 'kysely';
import type { MailAuthentication, MailSummary } from '../../../mail/mail.ts';
import { ComparedContent, recentContents } from '../../../mail/matching/compared-content.ts';
import { type AnyStoredContent, MAX_DERIVED_BYTES, readWords } from '../../../mail/stored-content.ts';
import type {
  FullMessageRecord,
  MailEnvelope,
  MessageRecord,
  MessageRow,
  NewMail,
} from '../../contract/index.ts';
import { decodeTrail } from '../../contract/trail.ts';
import type { Db } from '../engine.ts';
import { parseOr, parseTexts } from '../stored-json.ts';

const utf8 = new TextDecoder();

/** Stored UTF-8 JSON as text. */
const jsonText = (bytes: Uint8Array): string => utf8.decode(bytes);

/** A stored content; where it is damaged, one that is read from the raw source. */
export const parseContent = (bytes: Uint8Array): AnyStoredContent =>
  parseOr(jsonText(bytes), { isUnstored: true, htmlWords: null });

/** The raw source of a message by the number of its source; without pieces that were deleted meanwhile. */
async function loadSource(db: Db, source: number): Promise<Uint8Array> {
  const first = await db.selectFrom('sources').select('raw').where('seq', '=', source).execute();
  const others = await db
    .selectFrom('source_pieces')
    .select('bytes')
    .where('source_seq', '=', source)
    .orderBy('piece')
    .execute();
  return Buffer.concat([...first.map(({ raw }) => raw), ...others.map(({ bytes }) => bytes)]);
}

/** A message whose content is compared. */
export interface ComparedRow {
  id: string;
  source_seq: number;
  size: number;
}

/** Reads what conditions compare of contents, by message id; without messages that were deleted meanwhile. */
export type ReadContents = (rows: readonly ComparedRow[]) => Promise<ReadonlyMap<string, ComparedContent>>;

/** Reads contents and keeps those read last, for the next conditions. */
export function createReadContents(db: Db): ReadContents {
  const recent = recentContents();
  return async (rows) => {
    const found = new Map<string, ComparedContent>();
    const missing: ComparedRow[] = [];
    for (const row of rows) {
      const known = recent.get(row.id);
      if (known) found.set(row.id, known);
      else missing.push(row);
    }
    if (missing.length === 0) return found;
    // The messages of one mail in several inboxes have one source.
    const bySource = Map.groupBy(missing, ({ source_seq }) => source_seq);
    const stored = await db
      .selectFrom('sources')
      .select(['seq', 'content'])
      .where('seq', 'in', [...bySource.keys()])
      .execute();
    for (const { seq, content } of stored) {
      const messages = bySource.get(seq) ?? [];
      const size = messages[0]?.size ?? 0;
      const compared = new ComparedContent(
        await readWords(parseContent(content), size, () => loadSource(db, seq)),
      );
      for (const { id } of messages) {
        found.set(id, compared);
        recent.set(id, compared);
      }
    }
    return found;
  };
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

/** A stored summary; an empty one where it is damaged. */
export const parseSummary = (bytes: Uint8Array): MailSummary => readSummary(jsonText(bytes));

/** The JSON text of a stored summary; that of an empty one where it is damaged. */
function summaryText(bytes: Uint8Array): string {
  const text = jsonText(bytes);
  return readSummary(text) === UNREADABLE ? JSON.stringify(UNREADABLE) : text;
}

/** The columns that {@link toMessage} needs, of the tables `messages as m` and `sources as s`. */
export const MESSAGE_COLUMNS = [
  'm.id',
  'm.received_at',
  'm.rcpt_to',
  'm.read_at',
  'm.tags',
  's.size',
  's.parse_error',
  's.summary',
  sql<number>`length(${sql.ref('s.content')})`.as('content_bytes'),
] as const;

type ListedRow = Pick<SelectedMessage, 'id' | 'received_at' | 'size' | 'summary' | 'read_at' | 'tags'>;

/** The columns of a message that {@link toMessage} needs. */
export interface SelectedMessage {
  id: string;
  received_at: number;
  rcpt_to: string;
  read_at: number | null;
  tags: string;
  size: number;
  parse_error: string | null;
  summary: Uint8Array;
  content_bytes: number;
}

export function toMessage(inboxId: string, row: SelectedMessage): MessageRecord {
  const summary = parseSummary(row.summary);
  const parseError = row.parse_error === null ? null : parseOr(row.parse_error, UNREADABLE_NOTE);
  return {
    id: row.id,
    inboxId,
    receivedAt: row.received_at,
    size: row.size,
    contentBytes: row.content_bytes + (row.size <= MAX_DERIVED_BYTES ? row.size : 0),
    rcptTo: parseTexts(row.rcpt_to),
    readAt: row.read_at,
    tags: parseTexts(row.tags),
    parseError: summary === UNREADABLE ? UNREADABLE_NOTE : parseError,
    summary,
  };
}

/** A row of a list, which needs no more of the summary than its text. */
export const toRow = (row: ListedRow): MessageRow => ({
  ...{ id: row.id, receivedAt: row.received_at, size: row.size, summary: summaryText(row.summary) },
  readAt: row.read_at,
  // Most messages have none.
  tags: row.tags === '[]' ? row.tags : JSON.stringify(parseTexts(row.tags)),
});

/** The stored form of a mail's envelope, with its trail, and the sender's authentication if it was checked. */
export function envelopeJson({ envelope, authentication, trail }: NewMail): string {
  return JSON.stringify({ ...envelope, ...(authentication && { authentication }), trail });
}

/** What is shown of an envelope whose row is damaged. */
const UNKNOWN_ENVELOPE: MailEnvelope & { authentication?: MailAuthentication | null; trail?: string } = {
  ...{ mailFrom: '', helo: '', remoteAddress: '', tls: false },
};

export function readEnvelope(text: string): Pick<FullMessageRecord, 'envelope' | 'authentication' | 'trail'> {
  const { authentication = null, trail = '', ...envelope } = parseOr(text, UNKNOWN_ENVELOPE);
  return { envelope, authentication, trail: decodeTrail(trail) };
}

/**
 * The time after which a query returns messages of the inbox `i`: `after`, or the time up to which the inbox
 * was emptied. One bound instead of two, because an engine searches the index by one of them and would read
 * all rows between the two.
 */
export const laterThanEmptied = (after: RawBuilder<number>): RawBuilder<number> =>
  sql<number>`case when ${sql.ref('i.emptied_up_to')} > ${after} then ${sql.ref('i.emptied_up_to')} else ${after} end`;

/** Replaces infinity, which the engines do not know, by a number that no time reaches. */
export const bounded = ({ after, before, limit }: { after: number; before: number; limit: number }) => ({
  after: Math.max(after, -1),
  before: Math.min(before, Number.MAX_SAFE_INTEGER),
  limit,
});
