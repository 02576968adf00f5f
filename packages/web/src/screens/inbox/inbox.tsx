import type { api } from '@mayfly/client';
import type { RefObject } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { copy, deleteLater } from '../../lib/actions.ts';
import { Feed } from '../../lib/feed.ts';
import { useKeys } from '../../lib/keys.ts';
import { type Query, useQuery } from '../../lib/query.ts';
import { href, navigate, query } from '../../lib/router.ts';
import { mayfly, mayWrite, session } from '../../lib/session.ts';
import { Failure, Loaded } from '../../ui/states.tsx';
import { focusRow } from '../../ui/window-list.tsx';
import { MessagePane } from '../message/message.tsx';
import { Head } from './head.tsx';
import { List, rowHeight } from './list.tsx';
import { type Filters, filtersIn, Search } from './search.tsx';

const PAGE = 100;
/** The messages of an inbox, kept current while the component is shown. */
function useFeed(id: string, filters: Filters): Feed {
  const key = `${id} ${JSON.stringify(filters)}`;
  const feed = useMemo(
    () =>
      new Feed(
        async (range, signal) => {
          const page = await mayfly.call('GET /v1/inboxes/{id}/messages', {
            path: { id },
            query: { limit: PAGE, ...filters, ...range },
            signal,
          });
          return { ...page, before: page.messages.at(-1)?.id ?? null };
        },
        Object.keys(filters).length === 0,
        id,
      ),
    [key],
  );
  useEffect(() => () => feed.stop(), [feed]);
  return feed;
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

/** Moving in the list, opening and deleting; also by keys. */
function useVerbs(
  { id, messageId }: InboxProps,
  { inbox, feed, box }: { inbox: api.Inbox | undefined; feed: Feed; box: RefObject<HTMLDivElement | null> },
) {
  const messages = feed.messages.value;
  const at = messages.findIndex((message) => message.id === messageId);
  const focused = () =>
    Number(document.activeElement?.closest('.pane-list li')?.getAttribute('aria-posinset') ?? 0) - 1;
  const step = (by: number) => {
    const from = messageId === undefined ? focused() : at;
    const to = Math.min(messages.length - 1, Math.max(0, from + by));
    const next = messages[to];
    if (messageId !== undefined && next) {
      const path = `/inboxes/${id}/messages/${next.id}`;
      navigate(href(path, Object.fromEntries(query.value)), { replace: true });
    }
    focusRow(box.current, to, rowHeight());
  };
  const back = () => {
    if (messageId === undefined) return navigate(href(session.value?.inbox ? `/inboxes/${id}` : '/inboxes'));
    const rest = [...query.value].filter(([name]) => name !== 'view');
    navigate(href(`/inboxes/${id}`, Object.fromEntries(rest)));
    if (at >= 0) focusRow(box.current, at, rowHeight());
  };
  const remove = (message: api.MessageSummary | undefined) => {
    if (!message || !mayWrite.value) return;
    const path = { id, messageId: message.id };
    const hide = () => {
      feed.remove(message.id);
      if (message.id === messageId) back();
    };
    deleteLater('The message is deleted', hide, feed.reload, () =>
      mayfly.call('DELETE /v1/inboxes/{id}/messages/{messageId}', { path }),
    );
  };
  const current = () => messages[messageId === undefined ? focused() : at];
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    u: back,
    Escape: back,
    r: feed.reload,
    c: () => inbox && void copy(inbox.address, 'the address'),
    x: () => {
      const code = (current() ?? messages[0])?.codes[0];
      if (code) void copy(code.value, `code ${code.value}`);
    },
    Delete: () => remove(current()),
  });
  return { at, step, back, remove };
}

/** The messages of an inbox, and beside them the one that is open. */
export function Inbox({ id, messageId }: InboxProps) {
  const inbox: Query<api.Inbox> = useQuery(`inbox ${id}`, (signal) =>
    mayfly.call('GET /v1/inboxes/{id}', { path: { id }, signal }),
  );
  const filters = filtersIn(query.value);
  const feed = useFeed(id, filters);
  const box = useRef<HTMLDivElement>(null);
  const messages = feed.messages.value;
  useFreshFigures(inbox, messages[0]?.id);
  const { at, step, back, remove } = useVerbs({ id, messageId }, { inbox: inbox.data, feed, box });

  const failed = inbox.data === undefined && inbox.error !== undefined;
  if (failed) return <Failure error={inbox.error} retry={inbox.reload} isScreen />;
  return (
    <div class="screen fixed" ref={box}>
      <div class={`split ${messageId ? 'open' : ''}`}>
        <section class="pane-list" aria-label="Messages of the inbox">
          <Head inbox={inbox.data} id={id} onChange={inbox.set} />
          <Search key={id} filters={filters} feed={feed} />
          <List feed={feed} inbox={inbox.data} filters={filters} open={messageId} />
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
              onDelete={() => remove(messages[at])}
            />
          </section>
        )}
      </div>
      {inbox.data && inbox.error !== undefined && <Loaded query={inbox}>{() => null}</Loaded>}
    </div>
  );
}
