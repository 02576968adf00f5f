import { type SqlBool, sql } from 'kysely';
import {
  type Filters,
  failedConditions,
  failedContent,
  needsContent,
  shortened,
} from '../../../mail/matching/filters.ts';
import { MAY_LACK_TEXT_BYTES, readWords } from '../../../mail/stored-content.ts';
import type { CheckedMessage, CheckedPage, CheckRange, MessageStore } from '../../contract/index.ts';
import type { Db, Engine } from '../engine.ts';
import {
  laterThanEmptied,
  loadSource,
  MESSAGE_COLUMNS,
  parseContent,
  type SelectedMessage,
  toMessage,
} from './rows.ts';
import { likePattern, ROWS_PER_CALL, stretchOf } from './search.ts';

/** Checking the messages of one inbox against the conditions of a list or a wait. */
export function createCheck({ db, dialect }: Engine): MessageStore['check'] {
  const ofInbox = (inboxId: string, { after, before }: { after: number; before: number }, now: number) =>
    db
      .selectFrom('inboxes as i')
      .innerJoin('messages as m', 'm.inbox_seq', 'i.seq')
      .innerJoin('sources as s', 's.seq', 'm.source_seq')
      .where('i.id', '=', inboxId)
      .where('i.expires_at', '>', now)
      .where('m.received_at', '>', laterThanEmptied(sql.val(after)))
      .where('m.received_at', '<', before);

  return async (inboxId, conditions, range, now) => {
    const order = range.order === 'newest-first' ? ('desc' as const) : ('asc' as const);
    const [after, before] = [Math.max(range.after, -1), Math.min(range.before, Number.MAX_SAFE_INTEGER)];
    const sizes = await ofInbox(inboxId, { after, before }, now)
      .select(['m.received_at as place', 's.size'])
      .orderBy('m.received_at', order)
      .limit(ROWS_PER_CALL)
      .execute();
    const stretch = stretchOf(sizes, order === 'asc' ? after : before);
    if (stretch.rows === 0) return { ...stretch, messages: [] };
    const part =
      order === 'asc' ? { after, before: stretch.place + 1 } : { after: stretch.place - 1, before };
    const pattern = conditions.text === undefined ? null : likePattern(conditions.text);
    const rows = await ofInbox(inboxId, part, now)
      .select(MESSAGE_COLUMNS)
      .$if(needsContent(conditions), (needy) => needy.select(['s.content', 'm.source_seq']))
      .$if(range.onlyMatches && pattern !== null, (query) =>
        // The text of a large mail may be in its raw source alone.
        query.where(
          sql<SqlBool>`(${sql.ref('s.size')} > ${MAY_LACK_TEXT_BYTES} or ${dialect.isLike(dialect.asText(sql.ref('s.content')), pattern ?? '')})`,
        ),
      )
      .orderBy('m.received_at', order)
      .execute();
    const messages: CheckedMessage[] = [];
    for (const row of rows) messages.push(await checked(db, inboxId, row, conditions));
    return pageOf(messages, range, stretch);
  };
}

type Selected = SelectedMessage & { content?: Uint8Array | undefined; source_seq?: number | undefined };

async function checked(db: Db, inboxId: string, row: Selected, conditions: Filters): Promise<CheckedMessage> {
  const message = toMessage(inboxId, row);
  const failed = failedConditions(message, conditions);
  const { content: stored, source_seq: source } = row;
  if (stored && source !== undefined) {
    const content = await readWords(parseContent(stored), row.size, () => loadSource(db, source));
    failed.push(...failedContent({ summary: message.summary, content }, conditions));
  }
  return { message, failed: failed.map(shortened) };
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
