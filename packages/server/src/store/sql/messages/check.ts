import { type SqlBool, sql } from 'kysely';
import { failedConditions, failedContent, needsContent, shortened } from '../../../mail/matching/filters.ts';
import { MAY_LACK_TEXT_BYTES } from '../../../mail/stored-content.ts';
import type { CheckedMessage, CheckedPage, CheckRange, MessageStore } from '../../contract/index.ts';
import type { Engine } from '../engine.ts';
import { prepare, type Slots } from '../prepared.ts';
import { messagesAfter } from './reads.ts';
import { MESSAGE_COLUMNS, type ReadContents, toMessage } from './rows.ts';
import { likePattern, ROWS_PER_CALL, stretchOf } from './search.ts';

type Range = { inboxId: string; now: number; after: number; before: number };

/** Checking the messages of one inbox against the conditions of a list or a wait. */
export function createCheck({ db, dialect }: Engine, readContents: ReadContents): MessageStore['check'] {
  const ofRange = (value: Slots<Range>, order: CheckRange['order']) =>
    messagesAfter(db, value)
      .where('m.received_at', '<', value.before)
      .orderBy('m.received_at', order === 'newest-first' ? 'desc' : 'asc')
      .limit(ROWS_PER_CALL);
  const sizesIn = (order: CheckRange['order']) =>
    prepare((value: Slots<Range>) => ofRange(value, order).select(['m.received_at as place', 's.size']));
  const rowsOf = (value: Slots<Range>, order: CheckRange['order']) =>
    ofRange(value, order).select([...MESSAGE_COLUMNS, 'm.source_seq']);
  const rowsIn = (order: CheckRange['order']) => prepare((value: Slots<Range>) => rowsOf(value, order));
  const selectSizes = { 'newest-first': sizesIn('newest-first'), 'oldest-first': sizesIn('oldest-first') };
  const selectRows = { 'newest-first': rowsIn('newest-first'), 'oldest-first': rowsIn('oldest-first') };

  /** The messages of a range whose text may contain `text`, as far as the database alone can say. */
  const selectLike = (text: string, range: Range, order: CheckRange['order']) => {
    const pattern = likePattern(text);
    if (pattern === null) return selectRows[order](db, range);
    const values = {
      ...{ inboxId: sql.val(range.inboxId), now: sql.val(range.now) },
      ...{ after: sql.val(range.after), before: sql.val(range.before) },
    };
    // The text of a large mail may be in its raw source alone.
    const isLarge = sql`${sql.ref('s.size')} > ${MAY_LACK_TEXT_BYTES}`;
    const isLike = dialect.isLike(dialect.asText(sql.ref('s.content')), pattern);
    return rowsOf(values, order).where(sql<SqlBool>`(${isLarge} or ${isLike})`).execute();
  };

  return async (inboxId, conditions, range, now) => {
    const { order } = range;
    const [after, before] = [Math.max(range.after, -1), Math.min(range.before, Number.MAX_SAFE_INTEGER)];
    const all = { inboxId, now, after, before };
    const isAscending = order === 'oldest-first';
    const stretch = stretchOf(await selectSizes[order](db, all), isAscending ? after : before);
    if (stretch.rows === 0) return { ...stretch, messages: [] };
    const part = isAscending ? { ...all, before: stretch.place + 1 } : { ...all, after: stretch.place - 1 };
    const { text } = conditions;
    const rows = await (range.onlyMatches && text !== undefined
      ? selectLike(text, part, order)
      : selectRows[order](db, part));
    const contents = needsContent(conditions) ? await readContents(rows) : null;
    const messages: CheckedMessage[] = [];
    for (const row of rows) {
      const message = toMessage(inboxId, row);
      const failed = failedConditions(message, conditions);
      const content = contents?.get(row.id);
      // It was deleted after its row was read.
      if (contents && !content) continue;
      if (content) failed.push(...failedContent(message.summary, content, conditions));
      messages.push({ message, failed: failed.map(shortened) });
    }
    return pageOf(messages, range, stretch);
  };
}

/** The messages up to the last match that was asked for, or all of the stretch. */
function pageOf(
  all: readonly CheckedMessage[],
  { limit, onlyMatches }: CheckRange,
  { place, isComplete }: Pick<CheckedPage, 'place' | 'isComplete'>,
): CheckedPage {
  const messages: CheckedMessage[] = [];
  let matches = 0;
  for (const one of all) {
    const isMatch = one.failed.length === 0;
    if (isMatch || !onlyMatches) messages.push(one);
    if (isMatch) matches++;
    if (matches >= limit) return { messages, place: one.message.receivedAt, isComplete: false };
  }
  return { messages, place, isComplete };
}
