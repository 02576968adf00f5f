import { type Expression, type SqlBool, sql } from 'kysely';
import type { ComparedContent } from '../../../mail/matching/compared-content.ts';
import { failedConditions, missingWords } from '../../../mail/matching/filters.ts';
import { fold } from '../../../mail/matching/fold.ts';
import { MAY_LACK_TEXT_BYTES } from '../../../mail/stored-content.ts';
import type { AccountMessageRow, MessageStore, SearchConditions } from '../../contract/index.ts';
import type { Db, Dialect, Engine } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { parseTexts } from '../stored-json.ts';
import { emptyPage, prepareSelectAccount } from './account-pages.ts';
import { bounded, parseSummary, type ReadContents, summaryText } from './rows.ts';

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
export interface Stretch {
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
  size: number;
  summary: Uint8Array;
}

/** Messages of which the contents are read at a time: a search ends with the last match that was asked for. */
const CONTENTS_AT_A_TIME = 50;

/** The messages that match, in their order. */
async function* matchesOf(
  rows: readonly Candidate[],
  conditions: SearchConditions,
  readContents: ReadContents,
): AsyncGenerator<Candidate> {
  const { words = [], text } = conditions;
  for (let at = 0; at < rows.length; at += CONTENTS_AT_A_TIME) {
    const candidates = rows.slice(at, at + CONTENTS_AT_A_TIME).flatMap((row) => {
      const message = { summary: parseSummary(row.summary), rcptTo: parseTexts(row.rcpt_to) };
      if (failedConditions(message, conditions).length > 0) return [];
      const missing = missingWords(message, words);
      return [{ row, missing, isSure: missing.length === 0 && text === undefined }];
    });
    const contents = await readContents(candidates.filter(({ isSure }) => !isSure).map(({ row }) => row));
    for (const { row, missing, isSure } of candidates) {
      const content = contents.get(row.id);
      if (isSure || (content && hasAll(content, text === undefined ? missing : [text, ...missing])))
        yield row;
    }
  }
}

const hasAll = (content: ComparedContent, texts: readonly string[]): boolean =>
  texts.every((text) => content.hasText(text));

const toRow = (row: Candidate): AccountMessageRow => ({
  ...{ id: row.id, inboxId: row.inbox_id, accountOrder: row.account_order },
  ...{ receivedAt: row.received_at, size: row.size, summary: summaryText(row.summary) },
});

/** Conditions that hold for every message which may match `words` and `text`. */
function mayMatch(dialect: Dialect, { words = [], text }: SearchConditions): Expression<SqlBool>[] {
  const isLike = (column: Expression<string>, pattern: string) => dialect.isLike(column, pattern);
  const [summary, content] = [dialect.asText(sql.ref('s.summary')), dialect.asText(sql.ref('s.content'))];
  // Their text may be in their raw source alone.
  const isLarge = sql`${sql.ref('s.size')} > ${MAY_LACK_TEXT_BYTES}`;
  const conditions: Expression<SqlBool>[] = [];
  for (const pattern of words.map(likePattern)) {
    if (pattern === null) continue;
    const places = [summary, sql.ref<string>('m.rcpt_to'), content].map((column) => isLike(column, pattern));
    conditions.push(sql`(${sql.join([isLarge, ...places], sql` or `)})`);
  }
  const pattern = text === undefined ? null : likePattern(text);
  if (pattern !== null) conditions.push(sql`(${isLarge} or ${isLike(content, pattern)})`);
  return conditions;
}

/** Messages of an account between two places in its order, newest first. */
function selectCandidates(
  db: Db,
  [accountId, account]: readonly [string, number],
  from: number,
  before: number,
  now: number,
) {
  return (
    db
      .selectFrom('messages as m')
      .innerJoin('inboxes as i', 'i.seq', 'm.inbox_seq')
      .innerJoin('sources as s', 's.seq', 'm.source_seq')
      .select(['m.id', 'i.id as inbox_id', 'm.received_at', 'm.account_order', 'm.source_seq', 'm.rcpt_to'])
      .select(['s.size', 's.summary'])
      .where('m.account_seq', '=', account)
      .where('m.account_order', '>=', from)
      .where('m.account_order', '<', before)
      // The account may have been removed since its row number was read, and a new account may have the number.
      .where('i.account_id', '=', accountId)
      .where('i.expires_at', '>', now)
      .whereRef('m.received_at', '>', 'i.emptied_up_to')
      .orderBy('m.account_order', 'desc')
  );
}

/**
 * Searching reads the newest messages one after the other, in 3 µs each if the database alone can rule a
 * message out. There is no full-text index: SQLite's FTS5 took 80 µs a mail to write and 150 µs to delete,
 * and finds whole words only; a trigram index took 370 µs and five times the space.
 */
export function createSearch({ db, dialect }: Engine, readContents: ReadContents): MessageStore['search'] {
  const selectAccount = prepareSelectAccount(db);
  type Range = { account: number; after: number; before: number };
  const selectSizes = prepare((value: Slots<Range>) =>
    db
      .selectFrom('messages as m')
      .innerJoin('sources as s', 's.seq', 'm.source_seq')
      .select(['m.account_order as place', 's.size'])
      .where('m.account_seq', '=', value.account)
      .where('m.account_order', '>', value.after)
      .where('m.account_order', '<', value.before)
      .orderBy('m.account_order', 'desc')
      .limit(ROWS_PER_CALL),
  );

  return async (accountId, conditions, range, now) => {
    const { after, before, limit } = bounded(range);
    const [account] = await selectAccount(db, { accountId });
    if (!account) return emptyPage(before);
    const stretch = stretchOf(await selectSizes(db, { account: account.seq, after, before }), before);
    if (stretch.rows === 0) return emptyPage(before);
    let query = selectCandidates(db, [accountId, account.seq], stretch.place, before, now);
    for (const condition of mayMatch(dialect, conditions)) query = query.where(condition);
    const messages: AccountMessageRow[] = [];
    for await (const row of matchesOf(await query.execute(), conditions, readContents)) {
      messages.push(toRow(row));
      if (messages.length >= limit)
        return { ...stretch, messages, place: row.account_order, isComplete: false };
    }
    return { ...stretch, messages };
  };
}
