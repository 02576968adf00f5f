import { liveInbox } from '../inboxes/live-inbox.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { accountCursorAt, cursorAt } from './cursor.ts';
import { type ChangeSource, createChangeSignal, type WaitDeps } from './held/change-signal.ts';
import type { HeldDeps } from './held/held-deps.ts';
import type { MessageRecord } from './records.ts';

/** Messages read at a time: as many as a client that does not keep up holds in memory. */
const PAGE = 50;

/** A message with the cursor that continues after it. */
export interface Followed {
  message: MessageRecord;
  cursor: string;
}

/** A source of messages in one order: an inbox, or all inboxes of an account. */
export interface Followable {
  /** The cursor at which following begins. */
  cursor: string;
  source: ChangeSource;
  /**
   * The next messages, oldest first, at most a page; a later call continues after them.
   * @returns also until when the result holds without a change, epoch ms
   * @throws AppError `inbox_expired` or `not_found` when the inbox has ended
   */
  next(now: number): Promise<{ messages: Followed[]; more: boolean; until: number }>;
}

/**
 * The messages of an inbox from a time on.
 * @param inbox live when it was read
 * @param after epoch ms; messages with a later `receivedAt` follow
 */
export function followInbox({ store, events }: HeldDeps, inbox: InboxRecord, after: number): Followable {
  const { id, accountId } = inbox;
  let place = after;
  return {
    cursor: cursorAt(id, after),
    source: { accountId, subscribe: (listener) => events.onMessage(id, listener) },
    async next(now) {
      const { expiresAt } = liveInbox(await store.inboxes.find(accountId, id, now), now, id);
      const messages = await store.messages.listAfter(id, { after: place, limit: PAGE }, now);
      place = messages.at(-1)?.receivedAt ?? place;
      return {
        messages: messages.map((message) => ({ message, cursor: cursorAt(id, message.receivedAt) })),
        more: messages.length === PAGE,
        until: expiresAt,
      };
    },
  };
}

/** The messages of all inboxes of an account from a place on, in the order of their commits. */
export function followAccount({ store, events }: HeldDeps, accountId: string, after: number): Followable {
  let place = after;
  return {
    cursor: accountCursorAt(accountId, after),
    source: { accountId, subscribe: (listener) => events.onAccountMessage(accountId, listener) },
    async next(now) {
      const messages = await store.messages.listByAccount(accountId, { after: place, limit: PAGE }, now);
      place = messages.at(-1)?.accountOrder ?? place;
      return {
        messages: messages.map((message) => ({
          message,
          cursor: accountCursorAt(accountId, message.accountOrder),
        })),
        more: messages.length === PAGE,
        until: Number.POSITIVE_INFINITY,
      };
    },
  };
}

/**
 * Yields every message once and in order, page by page, as they arrive. A page is read only after the one
 * before it was taken, so a slow client costs one page of memory. An empty page means that no message
 * arrived for `quietMs` of monotonic time.
 * @param signal ends it: the client disconnected, or the server stops
 * @throws what {@link Followable.next} throws
 */
export async function* follow(
  followable: Followable,
  deps: WaitDeps & { quietMs: number },
  signal: AbortSignal,
): AsyncGenerator<Followed[]> {
  const { clock, quietMs } = deps;
  const changes = createChangeSignal(deps, followable.source, signal);
  try {
    let beat = clock.monotonic() + quietMs;
    while (!signal.aborted) {
      changes.reset();
      const { messages, more, until } = await followable.next(clock.now());
      if (signal.aborted) return;
      if (messages.length > 0 || clock.monotonic() >= beat) {
        yield messages;
        beat = clock.monotonic() + quietMs;
      }
      if (!more) await changes.wait(Math.min(beat - clock.monotonic(), until - clock.now()));
    }
  } finally {
    changes.end();
  }
}
