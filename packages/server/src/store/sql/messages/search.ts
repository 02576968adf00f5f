import { type Expression, type SqlBool, sql } from 'kysely';
import {
  type ColumnCondition,
  Comparison,
  isMailCondition,
  type MailCondition,
} from '../../../mail/matching/conditions.ts';
import { fold } from '../../../mail/matching/fold.ts';
import { MAY_LACK_TEXT_BYTES } from '../../../mail/stored-content.ts';
import type { AccountMessageRow, MessageStore, SearchScope } from '../../contract/index.ts';
import type { Db, Dialect, Engine } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { parseTexts } from '../stored-json.ts';
import { emptyPage, prepareSelectAccount } from './account-pages.ts';
import { bounded, parseSummary, type ReadContents, toRow } from './rows.ts';

/** Messages that one call reads: about ten milliseconds, fifty where the content of each is parsed. */
export const ROWS_PER_CALL = 500;
/** Bytes of mail that one call reads besides its first message. */
const BYTES_PER_CALL = 8 * 1024 * 1024;
/** With fewer letters nearly every message matches, and comparing the stored text is wasted. */
const MIN_LETTERS = 3;

/**
 * A pattern has at most so many characters. The database compares it anew at each place of the text: 500 characters
 * that nearly match everywhere would take seconds.
 */
const PATTERN_CHARACTERS = 16;
const PIECES = new RegExp(`[a-z0-9@.+-]{1,${PATTERN_CHARACTERS}}`, 'g');

/** The messages that one call reads. */
interface Stretch {
  /** Of the last of them, in the order of the call. */
  place: number;
  rows: number;
  /** Whether the range has no others. */
  isComplete: boolean;
}

/**
 * @param found the first {@link ROWS_PER_CALL} messages of the range, with their places and sizes
 * @param empty the place where the range has no message
 */
export function stretchOf(found: readonly { place: number; size: number }[], empty: number): Stretch {
  let rows = 0;
  for (let bytes = 0; rows < found.length; rows++) {
    bytes += found[rows]?.size ?? 0;
    if (rows > 0 && bytes > BYTES_PER_CALL) break;
  }
  const isComplete = rows === found.length && rows < ROWS_PER_CALL;
  return { place: found[rows - 1]?.place ?? empty, rows, isComplete };
}

/**
 * A `LIKE` pattern that matches every stored JSON text which contains `text`, whatever its case and the composition
 * of its letters; null if no pattern would help. It is the longest run of characters of `text`, up to
 * {@link PATTERN_CHARACTERS}, that JSON does not escape and to which no other character folds. `i`, `k` and the hyphen
 * become wildcards, because the dotted capital I, the Kelvin sign and other dashes fold to them.
 * @param text folded or not
 */
export function likePattern(text: string): string | null {
  const stretches = fold(text).match(PIECES) ?? [];
  const patterns = stretches.map((stretch) => stretch.replaceAll(/[ik-]/g, '_'));
  const letters = (pattern: string): number => pattern.replaceAll('_', '').length;
  const [best = ''] = patterns.toSorted((a, b) => letters(b) - letters(a));
  return letters(best) < MIN_LETTERS ? null : `%${best}%`;
}

interface Candidate {
  id: string;
  inbox_id: string;
  received_at: number;
  account_order: number;
  source_seq: number;
  rcpt_to: string;
  read_at: number | null;
  tags: string;
  size: number;
  summary: Uint8Array;
}

/** Messages of which the contents are read at a time: a search ends with the last match that was asked for. */
const CONTENTS_AT_A_TIME = 50;

/** The messages that match, in their order. */
async function* matchesOf(
  rows: readonly Candidate[],
  conditions: readonly MailCondition[],
  readContents: ReadContents,
): AsyncGenerator<Candidate> {
  for (let at = 0; at < rows.length; at += CONTENTS_AT_A_TIME) {
    const candidates = rows.slice(at, at + CONTENTS_AT_A_TIME).flatMap((row) => {
      const [rcptTo, tags] = [parseTexts(row.rcpt_to), parseTexts(row.tags)];
      const comparison = new Comparison({ summary: parseSummary(row.summary), rcptTo, tags });
      const isMatch = comparison.meets(conditions);
      return isMatch === false ? [] : [{ row, comparison, isMatch }];
    });
    const open = candidates.filter(({ isMatch }) => isMatch === undefined);
    const contents = await readContents(open.map(({ row }) => row));
    for (const { row, comparison, isMatch } of candidates) {
      const content = contents.get(row.id);
      if (isMatch || (content && comparison.meets(conditions, content))) yield row;
    }
  }
}

/** A condition that holds for every message which meets that one; undefined where the database cannot help. */
function mayMeet(dialect: Dialect, condition: MailCondition): Expression<SqlBool> | undefined {
  if (condition.not || condition.field === 'attachments') return undefined;
  const { field, text } = condition;
  const pattern = likePattern(text);
  if (pattern === null) return undefined;
  const isLike = (column: Expression<string>) => dialect.isLike(column, pattern);
  // The text of a large mail may be in its raw source alone.
  const isLarge = sql<SqlBool>`${sql.ref('s.size')} > ${MAY_LACK_TEXT_BYTES}`;
  const summary = sql.ref<Uint8Array>('s.summary');
  const ofHead = [isLike(dialect.asText(summary)), dialect.hasInvisible(summary)];
  const ofRecipients = isLike(sql.ref('m.rcpt_to'));
  const ofContent = [isLarge, isLike(dialect.asText(sql.ref('s.content')))];
  const places: Record<typeof field, Expression<SqlBool>[]> = {
    ...{ from: ofHead, cc: ofHead, subject: ofHead, code: ofHead },
    ...{ to: [ofRecipients, ...ofHead], rcptTo: [ofRecipients], tag: [isLike(sql.ref('m.tags'))] },
    ...{ text: ofContent, messageId: ofContent, any: [ofRecipients, ...ofContent, ...ofHead] },
  };
  return sql`(${sql.join(places[field], sql` or `)})`;
}

/** The condition on columns of the message. */
function meets(condition: ColumnCondition): Expression<SqlBool> {
  const value = 'value' in condition ? sql.val(condition.value) : sql``;
  const expressions: Record<typeof condition.field, Expression<SqlBool>> = {
    read: sql`${sql.ref('m.read_at')} is not null`,
    larger: sql`${sql.ref('s.size')} > ${value}`,
    smaller: sql`${sql.ref('s.size')} < ${value}`,
    before: sql`${sql.ref('m.received_at')} < ${value}`,
    after: sql`${sql.ref('m.received_at')} >= ${value}`,
  };
  const expression = expressions[condition.field];
  return condition.not ? sql`not (${expression})` : expression;
}

/** Of a scope, the column with its row number and the one with the places of its messages. */
const columnsOf = ({ inboxId }: SearchScope) =>
  inboxId === undefined
    ? ({ owner: 'm.account_seq', place: 'm.account_order' } as const)
    : ({ owner: 'm.inbox_seq', place: 'm.received_at' } as const);
type Columns = ReturnType<typeof columnsOf>;

/** Messages between two places of a scope, newest first. */
function selectCandidates(
  db: Db,
  scope: SearchScope,
  range: { seq: number; from: number; before: number },
  now: number,
) {
  const { owner, place } = columnsOf(scope);
  return (
    db
      .selectFrom('messages as m')
      .innerJoin('inboxes as i', 'i.seq', 'm.inbox_seq')
      .innerJoin('sources as s', 's.seq', 'm.source_seq')
      .select(['m.id', 'i.id as inbox_id', 'm.received_at', 'm.account_order', 'm.source_seq', 'm.rcpt_to'])
      .select(['m.read_at', 'm.tags', 's.size', 's.summary'])
      .where(owner, '=', range.seq)
      .where(place, '>=', range.from)
      .where(place, '<', range.before)
      // The account may have been removed since its row number was read, and a new account may have the number.
      .where('i.account_id', '=', scope.accountId)
      .where('i.expires_at', '>', now)
      .whereRef('m.received_at', '>', 'i.emptied_up_to')
      .orderBy(place, 'desc')
  );
}

/**
 * Searching reads the newest messages one after the other, in 3 µs each if the database alone can rule a
 * message out. There is no full-text index: SQLite's FTS5 took 80 µs a mail to write and 150 µs to delete,
 * and finds whole words only; a trigram index took 370 µs and five times the space.
 */
export function createSearch({ db, dialect }: Engine, readContents: ReadContents): MessageStore['search'] {
  const selectAccount = prepareSelectAccount(db);
  const selectInbox = prepare((value: Slots<{ inboxId: string }>) =>
    db.selectFrom('inboxes').select('seq').where('id', '=', value.inboxId),
  );
  type Range = { seq: number; after: number; before: number };
  const sizesBy = ({ owner, place }: Columns) =>
    prepare((value: Slots<Range>) =>
      db
        .selectFrom('messages as m')
        .innerJoin('sources as s', 's.seq', 'm.source_seq')
        .select((row) => [row.ref(place).as('place'), 'm.received_at', 's.size'])
        .where(owner, '=', value.seq)
        .where(place, '>', value.after)
        .where(place, '<', value.before)
        .orderBy(place, 'desc')
        .limit(ROWS_PER_CALL),
    );
  const selectSizesOfAccount = sizesBy(columnsOf({ accountId: '' }));
  const selectSizesOfInbox = sizesBy(columnsOf({ accountId: '', inboxId: '' }));

  return async (scope, conditions, range, now) => {
    const { after, before, limit } = bounded(range);
    const { accountId, inboxId } = scope;
    const [owner] =
      inboxId === undefined ? await selectAccount(db, { accountId }) : await selectInbox(db, { inboxId });
    if (!owner) return emptyPage(before);
    const { seq } = owner;
    const selectSizes = inboxId === undefined ? selectSizesOfAccount : selectSizesOfInbox;
    const sizes = await selectSizes(db, { seq, after, before });
    const { place, rows, isComplete } = stretchOf(sizes, before);
    if (rows === 0) return emptyPage(before);
    let query = selectCandidates(db, scope, { seq, from: place, before }, now);
    for (const condition of conditions) {
      const inSql = isMailCondition(condition) ? mayMeet(dialect, condition) : meets(condition);
      if (inSql) query = query.where(inSql);
    }
    const compared = conditions.filter(isMailCondition);
    const messages: AccountMessageRow[] = [];
    for await (const row of matchesOf(await query.execute(), compared, readContents)) {
      messages.push({ ...toRow(row), inboxId: row.inbox_id, accountOrder: row.account_order });
      if (messages.length < limit) continue;
      const [last, time] = [inboxId === undefined ? row.account_order : row.received_at, row.received_at];
      return { messages, place: last, time, isComplete: false };
    }
    return { messages, place, time: sizes[rows - 1]?.received_at ?? 0, isComplete };
  };
}
