import type { Clock } from '../clock.ts';
import type { News } from '../events.ts';
import type { InboxRecord, MessageRecord, Store } from '../store/contract/index.ts';
import { listenForHints } from './change-signal.ts';
import { accountCursorAt, cursorAt } from './cursor.ts';
import { liveInbox } from './list.ts';

/** Messages read at a time: what a reader that does not keep up holds in memory. */
const PAGE = 50;

/** A message with the cursor that goes on behind it. */
export interface Followed {
  message: MessageRecord;
  cursor: string;
}

/** Something whose messages have one order: an inbox, or all inboxes of an account. */
export interface Followable {
  /** The cursor of the place where following begins. */
  cursor: string;
  subscribe(listener: () => void): () => void;
  /**
   * The next messages, oldest first, at most a page; a later call goes on behind them.
   * @returns also until when, epoch ms, the answer may be trusted without news
   * @throws AppError `inbox_expired` or `not_found` when there is nothing to follow any more
   */
  next(now: number): Promise<{ messages: Followed[]; more: boolean; until: number }>;
}

export interface FollowDeps {
  store: Pick<Store, 'inboxes' | 'messages'>;
  news: Pick<News, 'onMessage' | 'onAccountMessage'>;
}

/**
 * An inbox from a time on.
 * @param inbox live when it was read
 * @param after epoch ms; messages with a later `receivedAt` follow
 */
export function followInbox({ store, news }: FollowDeps, inbox: InboxRecord, after: number): Followable {
  const { id, accountId } = inbox;
  let place = after;
  return {
    cursor: cursorAt(id, after),
    subscribe: (listener) => news.onMessage(id, listener),
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

/** All inboxes of an account, in the order of the commits, from a place in that order on. */
export function followAccount({ store, news }: FollowDeps, accountId: string, after: number): Followable {
  let place = after;
  return {
    cursor: accountCursorAt(accountId, after),
    subscribe: (listener) => news.onAccountMessage(accountId, listener),
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
 * Every message once and in order, page by page, as they come. A page is read only when the one before
 * it was taken, so a slow reader keeps nobody's memory. An empty page says that `quietMs` went by
 * without a message.
 * @param signal ends it: the client went away, or the server stops
 * @throws what {@link Followable.next} throws
 */
export async function* follow(
  followable: Followable,
  { clock, quietMs }: { clock: Clock; quietMs: number },
  signal: AbortSignal,
): AsyncGenerator<Followed[]> {
  const hints = listenForHints(clock, followable.subscribe, signal);
  try {
    let beat = clock.now() + quietMs;
    while (!signal.aborted) {
      hints.looking();
      const { messages, more, until } = await followable.next(clock.now());
      if (signal.aborted) return;
      const quiet = clock.now() >= beat;
      if (messages.length > 0 || quiet) {
        yield messages;
        beat = clock.now() + quietMs;
      }
      if (!more) await hints.pause(Math.min(beat, until));
    }
  } finally {
    hints.end();
  }
}
