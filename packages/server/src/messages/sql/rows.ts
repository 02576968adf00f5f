import { damaged } from '../../database/failures.ts';
import { anyOf, constant, type Db, EMPTY, perEngine, type Range, type Sql, sql } from '../../database/sql.ts';
import type { MailEnvelope } from '../../mail/mail.ts';
import { ComparedContent, recentContents } from '../../mail/matching/compared-content.ts';
import { MAX_DERIVED_BYTES, readWords, type StoredContent } from '../../mail/stored-content.ts';
import { decodeTrail } from '../../mail/trail.ts';
import { loadSource } from '../../reading/sql.ts';
import type { FullMessageRecord, MessageRecord, MessageRow } from '../records.ts';

const utf8 = new TextDecoder();

export function parse<T>(text: string): T {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw damaged('A message in the database is damaged and cannot be read; its raw source can.', error);
  }
}

export const parseContent = (bytes: Uint8Array): StoredContent => parse(utf8.decode(bytes));

const recent = recentContents();

export async function readContents(db: Db, rows: readonly { id: string; source: number; size: number }[]) {
  const found = new Map<string, ComparedContent>();
  const missing = rows.filter(({ id }) => {
    const known = recent.get(id);
    if (known) found.set(id, known);
    return !known;
  });
  if (missing.length === 0) return found;
  const bySource = Map.groupBy(missing, ({ source }) => source);
  const stored = await db.all<{ seq: number; content: Uint8Array }>(
    sql`select source_seq as seq, content from readings where source_seq ${anyOf([...bySource.keys()])}`,
  );
  for (const { seq, content } of stored) {
    const messages = bySource.get(seq) ?? [];
    const words = await readWords(parseContent(content), () => loadSource(db, seq));
    const compared = new ComparedContent(words);
    for (const { id } of messages) {
      found.set(id, compared);
      recent.set(id, compared);
    }
  }
  return found;
}

/** Columns of `readings r` are null until the mail is parsed. */
export const WITH_READING: Sql = constant('left join readings r on r.source_seq = m.source_seq');

export const utf8TextOf = (column: string) =>
  perEngine({ sqlite: `cast(${column} as text)`, postgres: `convert_from(${column}, 'UTF8')` });

/** Columns for lists of messages. The query must select from `messages m` joined by {@link WITH_READING}. */
export const LISTED_COLUMNS: Sql = sql`
  m.id, m.received_at as "receivedAt", m.source_seq as source, m.read_at as "readAt", m.tags, r.size,
  ${utf8TextOf('r.summary')} as summary,
  case when lower(m.rcpt_to) = (select '["' || address || '"]' from inboxes where seq = m.inbox_seq) then null
    else m.rcpt_to end as "otherRcptTo"`;
export const MESSAGE_COLUMNS: Sql = sql`${LISTED_COLUMNS}, m.rcpt_to as "rcptTo", r.parse_error as "parseError",
  length(r.content) as "contentBytes"`;

export type ListedMessage = Omit<MessageRow, 'inboxId'> & { source: number };

export interface StoredMessage extends ListedMessage {
  rcptTo: string;
  parseError: string | null;
  contentBytes: number;
}

export function toMessage(inboxId: string, row: StoredMessage): MessageRecord {
  const { id, receivedAt, size, readAt, parseError } = row;
  return {
    ...{ id, inboxId, receivedAt, size, readAt },
    summary: parse(row.summary),
    contentBytes: row.contentBytes + (size <= MAX_DERIVED_BYTES ? size : 0),
    rcptTo: parse(row.rcptTo),
    ...(row.otherRcptTo !== null && { isToOther: true }),
    tags: parse(row.tags),
    parseError: parseError === null ? null : parse(parseError),
  };
}

export function readEnvelope(
  text: string,
  reading: { trail: string; authentication: string | null },
): Pick<FullMessageRecord, 'envelope' | 'authentication' | 'trail' | 'given'> {
  const { trail = '', given, ...envelope } = parse<MailEnvelope & { trail?: string }>(text);
  return {
    envelope,
    ...(given && { given }),
    authentication: parse(reading.authentication ?? 'null'),
    trail: [...decodeTrail(trail), ...decodeTrail(reading.trail)],
  };
}

export const bounded = <Of extends Pick<Range, 'after' | 'before'>>(range: Of): Of => ({
  ...range,
  after: Math.max(range.after, -1),
  before: Math.min(range.before, Number.MAX_SAFE_INTEGER),
});

export const ASCENDING = constant('asc');
export const DESCENDING = constant('desc');

// Subqueries, because with a join PostgreSQL would read and sort all messages. The two lower bounds are
// one expression, because a search in an index uses only one.
export const ofLiveInbox = (
  columns: Sql,
  inboxId: string,
  { after, before, limit }: Range,
  now: number,
  order = DESCENDING,
  condition = EMPTY,
): Sql =>
  sql`select ${columns} from messages m ${WITH_READING}
    where m.inbox_seq = (select seq from inboxes where id = ${inboxId} and expires_at > ${now})
      and m.received_at > (select case when emptied_up_to > ${after} then emptied_up_to else ${after} end
        from inboxes where id = ${inboxId} and expires_at > ${now})
      and m.received_at < ${before} ${condition}
    order by m.received_at ${order} limit ${limit}`;
