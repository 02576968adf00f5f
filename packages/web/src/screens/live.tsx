import type { api } from '@mayfly/client';
import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Feed } from '../lib/feed.ts';
import { count } from '../lib/format.ts';
import { useKeys } from '../lib/keys.ts';
import { connection } from '../lib/live.ts';
import { href, navigate, query, setQuery } from '../lib/router.ts';
import { mayfly, session } from '../lib/session.ts';
import { Button, ScreenHead, SearchField } from '../ui/basics.tsx';
import { Failure, Loading, Notice, Stale } from '../ui/states.tsx';
import { focusRow, WindowList } from '../ui/window-list.tsx';
import { rowHeight } from './inbox/list.tsx';
import { MessageRow } from './message/row.tsx';

const PAGE = 50;
const addresses = signal<ReadonlyMap<string, string>>(new Map());
const asked = new Set<string>();

/** Looks up the address of an inbox once. */
function addressOf(id: string): string {
  if (!asked.has(id)) {
    asked.add(id);
    mayfly.call('GET /v1/inboxes/{id}', { path: { id } }).then(
      ({ address }) => {
        addresses.value = new Map(addresses.value).set(id, address);
      },
      () => asked.delete(id),
    );
  }
  return addresses.value.get(id) ?? '';
}

/** The messages, or the state that the list is in. */
function Messages({
  feed,
  messages,
  isSearch,
}: {
  feed: Feed;
  messages: readonly api.MessageSummary[];
  isSearch: boolean;
}) {
  const error = feed.error.value;
  if (messages.length > 0) {
    return (
      <>
        {error !== undefined && connection.value === 'open' && <Stale retry={feed.reload} />}
        <WindowList
          items={messages}
          rowHeight={rowHeight()}
          label="Messages of all inboxes"
          render={(message) => <MessageRow message={message} address={addressOf(message.inboxId)} />}
          onEnd={() => void feed.loadOlder()}
        />
      </>
    );
  }
  if (error !== undefined) return <Failure error={error} retry={feed.reload} />;
  if (feed.isLoading.value) return <Loading />;
  if (!isSearch) return <Waiting />;
  return (
    <Notice icon="search" title="No message matches">
      <Button onClick={() => navigate(href('/live'))}>Show all messages</Button>
    </Notice>
  );
}

function Waiting() {
  const smtp = session.value?.server.smtp;
  return (
    <Notice icon="live" title="Waiting for mail">
      <p>
        Mail for any inbox of the account appears here by itself
        {smtp && (
          <>
            ; the SMTP server is <b class="mono">{`${smtp.host}:${smtp.port}`}</b>
          </>
        )}
        .
      </p>
      <a href={href('/connect')}>Connect an application</a>
    </Notice>
  );
}

/** All mail of the account as it comes. */
export function Live() {
  const q = query.value.get('q') ?? '';
  const [paused, setPaused] = useState<number | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const feed = useMemo(
    () =>
      new Feed(
        (range, given) =>
          mayfly.call('GET /v1/messages', {
            query: { limit: PAGE, ...(q && { q }), ...range },
            signal: given,
          }),
        q === '',
        null,
      ),
    [q],
  );
  useEffect(() => () => feed.stop(), [feed]);
  const all = feed.messages.value;
  const held = paused === null ? 0 : Math.max(0, all.length - paused);
  const messages = held > 0 ? all.slice(held) : all;
  const togglePause = () => setPaused(paused === null ? all.length : null);
  const move = (step: number) => {
    const at = Number(document.activeElement?.closest('li')?.getAttribute('aria-posinset') ?? 0) - 1;
    focusRow(box.current, Math.min(messages.length - 1, Math.max(0, at + step)), rowHeight());
  };
  useKeys({ j: () => move(1), k: () => move(-1), r: feed.reload, p: togglePause });
  return (
    <div class="screen fixed" ref={box}>
      <ScreenHead title="Live" lead="All mail of the account as it comes">
        <Button
          icon={paused === null ? 'pause' : 'play'}
          aria-pressed={paused !== null}
          onClick={togglePause}
        >
          {paused === null ? 'Pause' : `Resume${held > 0 ? `, ${count(held)} new` : ''}`}
        </Button>
      </ScreenHead>
      <div class="toolbar">
        <SearchField
          aria-label="Search all messages"
          placeholder="Words in subject, addresses and text; press Enter"
          defaultValue={q}
          onKeyDown={(event) => {
            if (event.key === 'Enter') setQuery({ q: event.currentTarget.value.trim() });
          }}
        />
      </div>
      <Messages feed={feed} messages={messages} isSearch={q !== ''} />
    </div>
  );
}
