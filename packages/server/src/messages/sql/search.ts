import {
  constant,
  type Db,
  EMPTY,
  join,
  LIKE,
  perEngine,
  type Range,
  type Sql,
  search,
  sql,
  unreadOf,
} from '../../database/sql.ts';
import type { MailSummary } from '../../mail/mail.ts';
import { fold } from '../../mail/matching/compared-content.ts';
import {
  type ColumnCondition,
  type Condition,
  isMailCondition,
  type MailCondition,
  meetsAll,
} from '../../mail/matching/conditions.ts';
import { type Filters, failedConditions, needsContent } from '../../mail/matching/filters.ts';
import { MAY_LACK_TEXT_BYTES } from '../../mail/stored-content.ts';
import type { AccountMessageRow, CheckedMessage, CheckedPage, CheckRange, SearchScope } from '../records.ts';
import { emptyPage, placesOf } from './pages.ts';
import {
  ASCENDING,
  bounded,
  DESCENDING,
  LISTED_COLUMNS,
  type ListedMessage,
  MESSAGE_COLUMNS,
  ofLiveInbox,
  parse,
  readContents,
  type StoredMessage,
  toMessage,
  utf8TextOf,
  WITH_READING,
} from './rows.ts';

/** The characters that `withoutInvisible` (mail/mime/clean.ts) removes, as a set in SQL patterns. */
export const INVISIBLE_SET =
  '[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufff8\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]';

/** Limit of messages that one call reads: they take about 10 ms, or 50 ms if the content of each is parsed. */
const ROWS_PER_CALL = 500;
/** Limit of bytes that one call reads. The first message is read even if it is larger. */
const BYTES_PER_CALL = 8 * 1024 * 1024;
const MIN_LETTERS = 3;

/** Maximum length of a pattern, which is tried at each position: long partial matches would take seconds. */
const PATTERN_CHARACTERS = 16;
const PIECES = new RegExp(`[a-z0-9@.+-]{1,${PATTERN_CHARACTERS}}`, 'g');

interface Stretch {
  place: number;
  rows: number;
  isComplete: boolean;
}

const SIZES = constant('m.received_at as place, r.size, m.source_seq as source');

interface Sized {
  place: number;
  size: number | null;
  source: number;
}

const placeOf = ({ place }: Sized): number => place;

function stretchOf(found: readonly Sized[], empty: number): Stretch {
  let rows = 0;
  for (let bytes = 0; rows < found.length; rows++) {
    bytes += found[rows]?.size ?? 0;
    if (rows > 0 && bytes > BYTES_PER_CALL) break;
  }
  const isComplete = rows === found.length && rows < ROWS_PER_CALL;
  return { place: found[rows - 1]?.place ?? empty, rows, isComplete };
}

/** Returns a `LIKE` pattern for JSON with `text` in any case or Unicode form; null for a short text. */
export function likePattern(text: string): string | null {
  const stretches = fold(text).match(PIECES) ?? [];
  // `fold` also makes i, k and - from other characters (dotted I, Kelvin sign, dashes), so `_` matches any.
  const patterns = stretches.map((stretch) => stretch.replaceAll(/[ik-]/g, '_'));
  const letters = (pattern: string): number => pattern.replaceAll('_', '').length;
  const [best = ''] = patterns.toSorted((a, b) => letters(b) - letters(a));
  return letters(best) < MIN_LETTERS ? null : `%${best}%`;
}

const SUMMARY = utf8TextOf('r.summary');
const CONTENT = utf8TextOf('r.content');
/** True if a part of the mail's text may be only in its raw source. */
const MAY_LACK_TEXT = constant(`r.size > ${MAY_LACK_TEXT_BYTES}`);
/** Whether a summary has characters that comparisons ignore. ASCII text (as many bytes as characters) has none. */
const HAS_INVISIBLE = sql`(length(r.summary) <> length(${SUMMARY}) and ${SUMMARY} ${perEngine({
  sqlite: `glob '*${INVISIBLE_SET}*'`,
  postgres: `~ '${INVISIBLE_SET}'`,
})})`;

/** SQL that is true for every message that meets `condition`, and some others. If undefined, check all. */
function mayMeet(condition: MailCondition): Sql | undefined {
  if (condition.not || condition.field === 'attachments') return undefined;
  const { field, text } = condition;
  const pattern = likePattern(text);
  if (pattern === null) return undefined;
  const ofHead = [sql`${SUMMARY} ${LIKE} ${pattern}`, HAS_INVISIBLE];
  const ofRecipients = sql`m.rcpt_to ${LIKE} ${pattern}`;
  const ofContent = [MAY_LACK_TEXT, sql`${CONTENT} ${LIKE} ${pattern}`];
  const places: Record<typeof field, Sql[]> = {
    ...{ from: ofHead, cc: ofHead, subject: ofHead, code: ofHead },
    ...{ to: [ofRecipients, ...ofHead], rcptTo: [ofRecipients], tag: [sql`m.tags ${LIKE} ${pattern}`] },
    ...{ text: ofContent, messageId: ofContent, any: [ofRecipients, ...ofContent, ...ofHead] },
  };
  return sql`(${join(places[field], ' or ')})`;
}

function meets(condition: ColumnCondition): Sql {
  const value = 'value' in condition ? condition.value : null;
  const expressions: Record<typeof condition.field, Sql> = {
    read: sql`m.read_at is not null`,
    larger: sql`r.size > ${value}`,
    smaller: sql`r.size < ${value}`,
    before: sql`m.received_at < ${value}`,
    after: sql`m.received_at >= ${value}`,
  };
  const expression = expressions[condition.field];
  return condition.not ? sql`not (${expression})` : expression;
}

interface Candidate extends ListedMessage {
  inboxId: string;
  accountOrder: number;
  rcptTo: string;
}

/** Number of contents that one query reads: few, because a search ends as soon as it has `limit` matches. */
const CONTENTS_AT_A_TIME = 50;

async function* matchesOf(db: Db, rows: readonly Candidate[], conditions: readonly MailCondition[]) {
  for (let at = 0; at < rows.length; at += CONTENTS_AT_A_TIME) {
    const candidates = rows.slice(at, at + CONTENTS_AT_A_TIME).flatMap((row) => {
      const [rcptTo, tags] = [parse<string[]>(row.rcptTo), parse<string[]>(row.tags)];
      const head = { summary: parse<MailSummary>(row.summary), rcptTo, tags };
      const isMatch = meetsAll(conditions, head);
      return isMatch === false ? [] : [{ row, head, isMatch }];
    });
    const open = candidates.filter(({ isMatch }) => isMatch === undefined);
    const contents = await readContents(
      db,
      open.map(({ row }) => row),
    );
    for (const { row, head, isMatch } of candidates) {
      const content = contents.get(row.id);
      if (isMatch || (content && meetsAll(conditions, head, content))) yield row;
    }
  }
}

function pageOf(
  all: readonly CheckedMessage[],
  { limit, order }: CheckRange,
  { place, isComplete }: Stretch,
): CheckedPage {
  const messages: CheckedMessage[] = [];
  let matches = 0;
  for (const one of all) {
    const isMatch = one.failed.length === 0;
    if (isMatch || order === 'oldest-first') messages.push(one);
    if (isMatch) matches++;
    if (matches >= limit) return { messages, place: one.message.receivedAt, isComplete: false };
  }
  return { messages, place, isComplete };
}

// No full-text index: it would add 80 to 370 µs to each write, and a search takes only 3 µs per message.
export const searching = {
  /** Searches the newest messages until `limit` match, or 500 messages or 8 MiB are read. */
  search: search(
    async (
      db,
      { accountId, inboxId }: SearchScope,
      conditions: readonly Condition[],
      range: Range,
      now: number,
    ) => {
      const { after, before, limit } = bounded(range);
      const ofInbox = inboxId !== undefined;
      const [owner, place] = ofInbox ? OF_INBOX : OF_ACCOUNT;
      const row = ofInbox
        ? await db.first<{ seq: number }>(sql`select seq from inboxes where id = ${inboxId}`)
        : await placesOf(db, accountId);
      if (!row) return emptyPage(before);
      const sizes = await db.all<Sized & { receivedAt: number }>(
        sql`select ${place} as place, m.received_at as "receivedAt", r.size, m.source_seq as source
          from messages m ${WITH_READING}
          where ${owner} = ${row.seq} and ${place} > ${after} and ${place} < ${before}
          order by ${place} desc limit ${ROWS_PER_CALL}`,
      );
      const stretch = stretchOf(sizes, before);
      if (stretch.rows === 0) return emptyPage(before);
      const unread = unreadOf(sizes.slice(0, stretch.rows), placeOf);
      if (unread) return unread;
      const inSql = conditions.flatMap(
        (condition) => (isMailCondition(condition) ? mayMeet(condition) : meets(condition)) ?? [],
      );
      // Also checks the account, because a new inbox may have got the row number of a deleted one since.
      const rows = await db.all<Candidate>(
        sql`select ${LISTED_COLUMNS}, i.id as "inboxId", m.account_order as "accountOrder", m.rcpt_to as "rcptTo"
          from messages m join inboxes i on i.seq = m.inbox_seq join readings r on r.source_seq = m.source_seq
          where ${owner} = ${row.seq} and ${place} >= ${stretch.place} and ${place} < ${before}
            and i.account_id = ${accountId} and i.expires_at > ${now} and m.received_at > i.emptied_up_to
            ${join(
              inSql.map((condition) => sql`and ${condition}`),
              ' ',
            )}
          order by ${place} desc`,
      );
      const messages: AccountMessageRow[] = [];
      for await (const match of matchesOf(db, rows, conditions.filter(isMailCondition))) {
        const { accountOrder, receivedAt } = match;
        messages.push(match);
        if (messages.length < limit) continue;
        return {
          messages,
          place: ofInbox ? receivedAt : accountOrder,
          time: receivedAt,
          isComplete: false,
        };
      }
      const time = sizes[stretch.rows - 1]?.receivedAt ?? 0;
      return { messages, place: stretch.place, time, isComplete: stretch.isComplete };
    },
  ),

  check: search(async (db, inboxId: string, conditions: Filters, range: CheckRange, now: number) => {
    const isAscending = range.order === 'oldest-first';
    const { after, before } = bounded(range);
    const select = (columns: Sql, bounds: Omit<Range, 'limit'>, condition = EMPTY) => {
      const all = { ...bounds, limit: ROWS_PER_CALL };
      return ofLiveInbox(columns, inboxId, all, now, isAscending ? ASCENDING : DESCENDING, condition);
    };
    const sizes = await db.all<Sized>(select(SIZES, { after, before }));
    const stretch = stretchOf(sizes, isAscending ? after : before);
    if (stretch.rows === 0) return { ...stretch, messages: [] };
    const unread = unreadOf(sizes.slice(0, stretch.rows), placeOf);
    if (unread) return unread;
    const { text } = conditions;
    const pattern = isAscending || text === undefined ? null : likePattern(text);
    const rows = await db.all<StoredMessage>(
      select(
        MESSAGE_COLUMNS,
        isAscending ? { after, before: stretch.place + 1 } : { after: stretch.place - 1, before },
        pattern === null ? EMPTY : sql`and (${MAY_LACK_TEXT} or ${CONTENT} ${LIKE} ${pattern})`,
      ),
    );
    const contents = needsContent(conditions) ? await readContents(db, rows) : null;
    const messages: CheckedMessage[] = [];
    for (const row of rows) {
      const message = toMessage(inboxId, row);
      const content = contents?.get(row.id);
      // Skips a message that was deleted after its row was read.
      if (contents && !content) continue;
      messages.push({ message, failed: failedConditions(message, conditions, content) });
    }
    return pageOf(messages, range, stretch);
  }),
};

const OF_ACCOUNT = [constant('m.account_seq'), constant('m.account_order')] as const;
const OF_INBOX = [constant('m.inbox_seq'), constant('m.received_at')] as const;
