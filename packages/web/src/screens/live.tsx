import type { api } from '@mayfly/client';
import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { copy, visible } from '../lib/actions.ts';
import { Feed } from '../lib/feed.ts';
import { count } from '../lib/format.ts';
import { useKeys } from '../lib/keys.ts';
import { href, navigate, query } from '../lib/router.ts';
import { mayfly } from '../lib/session.ts';
import { Button, IconButton, ScreenHead } from '../ui/basics.tsx';
import { later } from '../ui/later.tsx';
import { Search } from '../ui/search.tsx';
import { Failure, Loading, Notice } from '../ui/states.tsx';
import { focusedRow, rowKeys } from '../ui/window-list.tsx';
import { FeedList } from './inbox/feed-list.tsx';
import { ListCount, loadAll, useKept } from './inbox/list-count.tsx';
import { removeMessages, type Selection, SelectionBar, useSelection } from './inbox/selection.tsx';

const Listen = later(async () => (await import('./connect/listen.tsx')).Listen);
const PAGE = 50;
/** As many addresses as one request returns; those of other inboxes are looked up one by one. */
const KNOWN = 200;
const addresses = signal<ReadonlyMap<string, string>>(new Map());
const asked = new Set<string>();

function know(inboxes: readonly { id: string; address: string }[]): void {
  addresses.value = new Map([
    ...addresses.value,
    ...inboxes.map(({ id, address }) => [id, address] as const),
  ]);
}

/** Looks up the address of an inbox once; that of an inbox that has ended stays unknown. */
function addressOf(id: string): string {
  if (!asked.has(id) && !addresses.value.has(id)) {
    asked.add(id);
    mayfly.call('GET /v1/inboxes/{id}', { path: { id } }).then(
      (inbox) => know([inbox]),
      () => undefined,
    );
  }
  return addresses.value.get(id) ?? '';
}

/** The addresses of the newest inboxes, known before the first rows are shown. */
async function loadAddresses(): Promise<void> {
  const page = await mayfly.call('GET /v1/inboxes', { query: { limit: KNOWN } }).catch(() => null);
  know(page?.inboxes ?? []);
}

/** The messages, or the state that the list is in. */
function Messages({
  feed,
  messages,
  selection,
}: {
  feed: Feed;
  messages: readonly api.MessageSummary[];
  selection: Selection;
}) {
  const error = feed.error.value;
  if (messages.length > 0) {
    return (
      <FeedList
        feed={feed}
        messages={messages}
        label="Messages of all inboxes"
        addressOf={addressOf}
        isOfAll
        selection={selection}
      />
    );
  }
  if (error !== undefined) return <Failure error={error} retry={feed.reload} />;
  if (feed.isLoading.value) return <Loading />;
  return (
    <Notice icon="search" title="No message matches">
      <Button onClick={() => navigate(href('/live'))}>Show all messages</Button>
    </Notice>
  );
}

/** The mail of all inboxes, kept current while the component is shown. */
function useFeed(q: string): Feed {
  const known = useMemo(loadAddresses, []);
  const feed = useMemo(
    () =>
      new Feed(
        async (range, given) => {
          const query = { limit: range.before ? KNOWN : PAGE, ...(q && { q }), ...range };
          const loaded = mayfly.call('GET /v1/messages', { query, signal: given });
          return (await Promise.all([loaded, known]))[0];
        },
        q === '',
        null,
      ),
    [q],
  );
  useEffect(() => () => feed.stop(), [feed]);
  return useKept(feed, '');
}

/** All mail of the account as it comes; while there is none, how to send some and what became of each attempt. */
export function Live() {
  const q = query.value.get('q') ?? '';
  /** Id of the newest message when the list was paused: ids are in the order of arrival. */
  const [pausedAt, setPausedAt] = useState<string | null>(null);
  /** True from when the account was seen without mail: the first one does not take the screen away. */
  const [isListening, setListening] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const feed = useFeed(q);
  const all = visible(feed.messages.value);
  const messages = pausedAt === null ? all : all.filter(({ id }) => id <= pausedAt);
  const held = all.length - messages.length;
  const togglePause = () => setPausedAt(pausedAt === null ? (all[0]?.id ?? '') : null);
  const selection = useSelection(messages);
  useKeys({
    ...rowKeys(box, messages.length, () => loadAll(feed)),
    r: feed.reload,
    p: togglePause,
    x: () => {
      const code = (messages[focusedRow()] ?? messages[0])?.codes[0];
      if (code) void copy(code.value, `code ${code.value}`);
    },
    ...(selection.chosen.length === 0 && {
      Delete: () => removeMessages(messages.slice(focusedRow(), focusedRow() + 1)),
    }),
  });
  const isEmpty = q === '' && all.length === 0 && !feed.isLoading.value && feed.error.value === undefined;
  useEffect(() => {
    if (isEmpty) setListening(true);
  }, [isEmpty]);
  if (isEmpty || isListening) return <Listen title="Live" onShow={() => setListening(false)} />;
  return (
    <div class="screen fixed" ref={box}>
      <ScreenHead title="Live" lead="All mail as it comes">
        <Button
          icon={pausedAt === null ? 'pause' : 'play'}
          aria-pressed={pausedAt !== null}
          onClick={togglePause}
        >
          {pausedAt === null ? 'Pause' : `Resume${held > 0 ? `, ${count(held)} new` : ''}`}
        </Button>
      </ScreenHead>
      {selection.isOn ? (
        <SelectionBar selection={selection} total={messages.length} />
      ) : (
        <Search q={q} feed={feed} label="Search all messages" placeholder="Search all messages">
          <ListCount feed={feed} total={undefined} isSearch={q !== ''} />
          {messages.length > 0 && (
            <IconButton icon="select" label="Select messages" onClick={() => selection.setOn(true)} />
          )}
        </Search>
      )}
      <Messages feed={feed} messages={messages} selection={selection} />
    </div>
  );
}
