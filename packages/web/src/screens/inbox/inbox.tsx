import type { api } from '@mayfly/client';
import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { copy, visible } from '../../lib/actions.ts';
import { Feed } from '../../lib/feed.ts';
import { afterRender, keepFocus } from '../../lib/focus.ts';
import { useKeys } from '../../lib/keys.ts';
import { isGone, type Query, useQuery } from '../../lib/query.ts';
import { goBack, href, navigate, query } from '../../lib/router.ts';
import { mayfly, session } from '../../lib/session.ts';
import { serverNow } from '../../lib/time.ts';
import { showTitle } from '../../lib/title.ts';
import { IconButton } from '../../ui/basics.tsx';
import { Search } from '../../ui/search.tsx';
import { Failure, Stale } from '../../ui/states.tsx';
import { focusedRow, focusRow, keepRow, rowKeys } from '../../ui/window-list.tsx';
import { MessagePane } from '../message/message.tsx';
import { Head } from './head.tsx';
import { List } from './list.tsx';
import { ListCount, loadAll, useKept } from './list-count.tsx';
import { removeMessages, SelectionBar, useSelection } from './selection.tsx';

const PAGE = 100;
/** As many as one request returns. */
const OLDER_PAGE = 200;
/** Longer timers would fire at once (HTML, section 8.7); the inbox is then looked at again. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** The server's clock may be a little behind, */
const AFTER_END_MS = 1_000;
/** or the one of this machine far ahead. */
const NEXT_LOOK_MS = 30_000;

/** The messages of an inbox, kept current while the component is shown. */
function useFeed(id: string, q: string): Feed {
  const feed = useMemo(
    () =>
      new Feed(
        async (range, signal) => {
          const page = await mayfly.call('GET /v1/inboxes/{id}/messages', {
            path: { id },
            query: { limit: range.before ? OLDER_PAGE : PAGE, ...(q && { q }), ...range },
            signal,
          });
          return { ...page, before: page.searchedTo ?? page.messages.at(-1)?.id ?? null };
        },
        q === '',
        id,
      ),
    [id, q],
  );
  useEffect(() => () => feed.stop(), [feed]);
  return useKept(feed, id);
}

interface InboxProps {
  id: string;
  messageId?: string | undefined;
}

/** Loads the inbox again soon after its newest message changed: the figures of the head follow the list. */
function useFreshFigures(inbox: Query<api.Inbox>, newest: string | undefined): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current || newest === undefined) {
      isFirst.current = newest === undefined;
      return;
    }
    const timer = setTimeout(inbox.reload, 400);
    return () => clearTimeout(timer);
  }, [newest]);
}

/** Looks at the inbox when its time is over, which shows that it has expired, or that it was extended. */
function useEnd(inbox: Query<api.Inbox>): void {
  const expiresAt = inbox.data?.expiresAt;
  useEffect(() => {
    if (expiresAt === undefined) return;
    const left = Date.parse(expiresAt) - serverNow();
    const pause = left < 0 ? NEXT_LOOK_MS : Math.min(left + AFTER_END_MS, LONGEST_TIMER_MS);
    const timer = setTimeout(inbox.reload, pause);
    return () => clearTimeout(timer);
  }, [expiresAt, inbox.data]);
}

interface Shown {
  inbox: api.Inbox | undefined;
  feed: Feed;
  messages: readonly api.MessageSummary[];
  box: RefObject<HTMLDivElement | null>;
  /** Called after a message was deleted: the figures of the head change. */
  onDeleted: () => void;
}

/** Moving in the list, opening and deleting; also by keys. */
function useVerbs({ id, messageId }: InboxProps, { inbox, feed, messages, box, onDeleted }: Shown) {
  const at = messages.findIndex((message) => message.id === messageId);
  /** Shows the next message beside the list. */
  const step = (by: number) => {
    const to = Math.min(messages.length - 1, Math.max(0, at + by));
    const next = messages[to];
    if (!next) return;
    const path = `/inboxes/${id}/messages/${next.id}`;
    navigate(href(path, Object.fromEntries(query.value)), { replace: true });
    focusRow(box.current, to);
  };
  const back = () =>
    goBack(
      messageId !== undefined
        ? href(`/inboxes/${id}`, { q: query.value.get('q') })
        : href(session.value?.inbox ? `/inboxes/${id}` : '/inboxes'),
    );
  // Beside a message the list is narrow, and its rows are higher. A page that begins with a message lists it later.
  const former = useRef(messageId);
  useLayoutEffect(() => {
    const left = former.current;
    former.current = messageId;
    if (messageId !== undefined) return keepRow(box, at);
    const row = messages.findIndex((message) => message.id === left);
    if (row < 0) return;
    focusRow(box.current, row);
    return keepRow(box, row);
  }, [messageId, at >= 0 && inbox !== undefined]);
  const remove = (removed: string | undefined) => {
    const index = messages.findIndex((message) => message.id === removed);
    const message = messages[index];
    if (!message) return;
    const hadFocus = focusedRow() >= 0;
    if (removed === messageId) back();
    removeMessages([message], onDeleted);
    // The next row takes the place of this one, also for the keyboard.
    if (hadFocus) afterRender(() => focusRow(box.current, Math.min(index, messages.length - 2)));
    keepFocus();
  };
  const current = () => messages[messageId === undefined ? focusedRow() : at];
  useKeys({
    ...(messageId === undefined
      ? rowKeys(box, messages.length, () => loadAll(feed))
      : { j: () => step(1), k: () => step(-1) }),
    u: back,
    Escape: back,
    r: feed.reload,
    c: () => inbox && void copy(inbox.address, 'the address'),
    x: () => {
      const code = (current() ?? messages[0])?.codes[0];
      if (code) void copy(code.value, `code ${code.value}`);
    },
    Delete: () => remove(messageId ?? current()?.id),
  });
  return { at, step, back, remove };
}

/** The messages of an inbox, and beside them the one that is open. */
export function Inbox({ id, messageId }: InboxProps) {
  const inbox: Query<api.Inbox> = useQuery(`inbox ${id}`, (signal) =>
    mayfly.call('GET /v1/inboxes/{id}', { path: { id }, signal }),
  );
  const q = query.value.get('q') ?? '';
  const feed = useFeed(id, q);
  const box = useRef<HTMLDivElement>(null);
  const messages = visible(feed.messages.value);
  useFreshFigures(inbox, messages[0]?.id);
  useEnd(inbox);
  const address = inbox.data?.address;
  useEffect(() => {
    if (address !== undefined && messageId === undefined) showTitle(address, id);
  }, [address, messageId]);
  const shown = { inbox: inbox.data, feed, messages, box, onDeleted: inbox.reload };
  const { at, step, back, remove } = useVerbs({ id, messageId }, shown);
  const selection = useSelection(messages, inbox.reload, messageId !== undefined);

  // What the list shows of an inbox that has ended is no longer readable.
  const gone = [inbox.error, feed.error.value].find(isGone);
  const error = gone ?? (inbox.data === undefined ? inbox.error : undefined);
  const reload = () => {
    inbox.reload();
    feed.reload();
  };
  if (error !== undefined) return <Failure error={error} retry={reload} isScreen />;
  return (
    <div class="screen fixed" ref={box}>
      <div class={`split ${messageId ? 'open' : ''}`}>
        <section class="pane-list" aria-label="Messages of the inbox">
          <Head
            inbox={inbox.data}
            id={id}
            isBeside={messageId !== undefined}
            onChange={inbox.set}
            onEmptied={reload}
          />
          {selection.isOn ? (
            <SelectionBar selection={selection} total={messages.length} />
          ) : (
            <Search key={id} q={q} feed={feed} label="Search messages" placeholder="Search this inbox">
              <ListCount feed={feed} total={inbox.data?.messageCount} isSearch={q !== ''} />
              {messages.length > 0 && (
                <IconButton icon="select" label="Select messages" onClick={() => selection.setOn(true)} />
              )}
            </Search>
          )}
          <List
            feed={feed}
            messages={messages}
            inbox={inbox.data}
            q={q}
            open={messageId}
            selection={selection}
          />
        </section>
        {messageId && (
          <section class="pane-detail" aria-label="Message">
            <MessagePane
              key={messageId}
              inboxId={id}
              messageId={messageId}
              onBack={back}
              onNext={at >= 0 && at < messages.length - 1 ? () => step(1) : undefined}
              onPrevious={at > 0 ? () => step(-1) : undefined}
              onDelete={() => remove(messageId)}
            />
          </section>
        )}
      </div>
      {inbox.data && inbox.error !== undefined && <Stale retry={inbox.reload} />}
    </div>
  );
}
