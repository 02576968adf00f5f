import { liveInbox } from '../inboxes/live-inbox.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { accountCursorAt, cursorAt } from './cursor.ts';
import { type ChangeSource, createChangeSignal, type WaitDeps } from './held/change-signal.ts';
import type { HeldDeps } from './held/held-deps.ts';
import type { MessageRecord } from './records.ts';

/** Messages in memory for each client that reads too slowly. */
const PAGE = 50;

/** `cursor` continues after the message. */
export interface Followed {
  message: MessageRecord;
  cursor: string;
}

/** The messages of an inbox, or of all inboxes of an account, in one order. */
export interface Followable {
  /** Where following begins. */
  cursor: string;
  source: ChangeSource;
  /**
   * The next page, oldest first; a later call continues after it. It is valid until `until` (epoch ms) or a change.
   * @throws AppError `inbox_expired` or `not_found` when the inbox has ended
   */
  next(now: number): Promise<{ messages: Followed[]; more: boolean; until: number }>;
}

/** @param inbox a live one. @param after epoch ms; messages with a later `receivedAt` follow */
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

/** In the order of the commits. @param after a place in the account's order */
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
 * Yields every message once and in order. The next page is read when the client has taken the last one, which limits
 * its memory. An empty page means that no message arrived for `quietMs`. @throws what {@link Followable.next} throws
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
