import { type RawBuilder, sql } from 'kysely';
import type { FullMessageRecord, MessageRecord, NewMail } from '../../contract/index.ts';

const utf8 = new TextDecoder();

/** Stored UTF-8 JSON as text. */
export const jsonText = (bytes: Uint8Array): string => utf8.decode(bytes);

/** Reads stored UTF-8 JSON. */
export function parseJson<T>(bytes: Uint8Array): T {
  return JSON.parse(jsonText(bytes));
}

/** The columns of a message that {@link toMessage} needs. */
export interface SelectedMessage {
  id: string;
  received_at: number;
  rcpt_to: string;
  size: number;
  parse_error: string | null;
  summary: Uint8Array;
}

export function toMessage(inboxId: string, row: SelectedMessage): MessageRecord {
  return {
    id: row.id,
    inboxId,
    receivedAt: row.received_at,
    size: row.size,
    rcptTo: JSON.parse(row.rcpt_to),
    parseError: row.parse_error === null ? null : JSON.parse(row.parse_error),
    summary: parseJson(row.summary),
  };
}

/** The stored form of a mail's envelope, with the result of the sender's authentication if it was checked. */
export function envelopeJson({ envelope, authentication }: NewMail): string {
  return JSON.stringify(authentication === null ? envelope : { ...envelope, authentication });
}

export function readEnvelope(text: string): Pick<FullMessageRecord, 'envelope' | 'authentication'> {
  const { authentication = null, ...envelope } = JSON.parse(text);
  return { envelope, authentication };
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
