import type { api } from '@mayfly/client';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { attempt, copy, deleteLater, toast } from '../../lib/actions.ts';
import { Feed } from '../../lib/feed.ts';
import { count, plural } from '../../lib/format.ts';
import { useKeys } from '../../lib/keys.ts';
import { connection } from '../../lib/live.ts';
import { type Query, useQuery } from '../../lib/query.ts';
import { href, navigate, query, setQuery } from '../../lib/router.ts';
import { mayfly, mayWrite, session } from '../../lib/session.ts';
import { exact } from '../../lib/time.ts';
import { Badge, Button, CopyButton, IconButton, Snippet } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Failure, Loaded, Loading, Notice, Stale } from '../../ui/states.tsx';
import { focusRow, WindowList } from '../../ui/window-list.tsx';
import { sendTestMail } from '../connect/test-mail.ts';
import { isSink, TimeLeft } from '../inboxes/inboxes.tsx';
import { MessagePane } from '../message/message.tsx';
import { MessageRow } from '../message/row.tsx';

const PAGE = 100;
/** Filters of the list, as the API names them. */
const FILTERS = ['from', 'to', 'subject', 'text'] as const;

type Filters = Partial<Record<(typeof FILTERS)[number], string>> & { hasAttachments?: boolean };

function filtersIn(search: URLSearchParams): Filters {
  const filters: Filters = {};
  for (const name of FILTERS) {
    const value = search.get(name);
    if (value) filters[name] = value;
  }
  if (search.get('attachments')) filters.hasAttachments = true;
  return filters;
}

/** `subject:hello from:ada words` as filters; bare words search the text. */
function parseSearch(text: string): Record<string, string | null> {
  const found: Record<string, string | null> = {
    from: null,
    to: null,
    subject: null,
    text: null,
    attachments: null,
  };
  const words: string[] = [];
  for (const [, name, quoted, plain] of text.matchAll(
    /(?:(from|to|subject|text|has):)?(?:"([^"]*)"|(\S+))/g,
  )) {
    const value = quoted ?? plain ?? '';
    if (name === 'has') found.attachments = '1';
    else if (name) found[name] = value;
    else words.push(value);
  }
  if (words.length > 0) found.text = words.join(' ');
  return found;
}

const quote = (value: string) => (/\s/.test(value) ? `"${value}"` : value);

function searchText(filters: Filters): string {
  const parts = FILTERS.flatMap((name) =>
    filters[name] ? [name === 'text' ? filters[name] : `${name}:${quote(filters[name])}`] : [],
  );
  return [...parts, ...(filters.hasAttachments ? ['has:attachment'] : [])].join(' ');
}

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

function Empty({ inbox }: { inbox: api.Inbox }) {
  const smtp = session.value?.server.smtp;
  const server = smtp ? `${smtp.host}:${smtp.port}` : 'the SMTP server';
  return (
    <Notice icon="inbox" title="Waiting for the first mail">
      <p>
        Send to <b class="mono">{inbox.address}</b> on <b class="mono">{server}</b>. It appears here by
        itself.
      </p>
      {smtp && (
        <Snippet
          what="the command"
          text={`swaks --to ${inbox.address} --server ${server} \\\n  --header "Subject: Hello" --body "Your code is 482913"`}
        />
      )}
      <p>
        {mayWrite.value && (
          <Button icon="send" onClick={() => void sendTestMail(inbox.id, inbox.address)}>
            Send a test mail
          </Button>
        )}{' '}
        <a href={href(`/inboxes/${inbox.id}/why`)}>Why nothing came</a>
      </p>
    </Notice>
  );
}

function Head({
  inbox,
  id,
  onChange,
}: {
  inbox: api.Inbox | undefined;
  id: string;
  onChange: (inbox: api.Inbox) => void;
}) {
  const extend = async () => {
    if (!inbox) return;
    const left = (Date.parse(inbox.expiresAt) - Date.now()) / 60_000;
    const longest = Math.floor((Date.parse(inbox.maxExpiresAt) - Date.now()) / 60_000);
    const ttlMinutes = Math.max(1, Math.min(Math.ceil(left) + 60, longest));
    const updated = await attempt(() =>
      mayfly.call('PATCH /v1/inboxes/{id}', { path: { id }, body: { ttlMinutes } }),
    );
    if (!updated) return;
    onChange(updated);
    toast('Extended by an hour');
  };
  const remove = () =>
    deleteLater(
      `${inbox?.address} is deleted`,
      () => navigate(href('/inboxes')),
      () => navigate(href(`/inboxes/${id}`)),
      () => mayfly.call('DELETE /v1/inboxes/{id}', { path: { id } }),
    );
  const curl = `curl ${location.origin}/v1/inboxes/${id}/messages -H "Authorization: Bearer $MAYFLY_API_KEY"`;
  return (
    <header class="screen-head">
      <div class="screen-title">
        <h1 class="address">
          {inbox ? inbox.address : id} {inbox && <CopyButton value={inbox.address} what="the address" />}
        </h1>
        {inbox && (
          <p class="lead badges small">
            <span>{plural(inbox.messageCount, 'mail')}</span>
            <span title={exact(inbox.expiresAt)} class="badges">
              <TimeLeft inbox={inbox} />
            </span>
            {inbox.full && <Badge kind="bad">full: new mail is refused</Badge>}
            {Object.entries(inbox.labels).map(([name, value]) => (
              <a class="chip" key={name} href={href('/inboxes', { [`label.${name}`]: value })}>
                {name}={value}
              </a>
            ))}
          </p>
        )}
      </div>
      <div class="verbs">
        <a class="button" href={href(`/inboxes/${id}/why`)}>
          <Icon name="question" /> Why nothing came
        </a>
        {mayWrite.value && inbox && (
          <>
            <IconButton
              icon="send"
              label="Send a test mail"
              onClick={() => void sendTestMail(id, inbox.address)}
            />
            {!isSink(inbox) && (
              <IconButton icon="clock" label="Extend by an hour" onClick={() => void extend()} />
            )}
            {!isSink(inbox) && <IconButton icon="trash" label="Delete the inbox" onClick={remove} />}
          </>
        )}
        <IconButton
          class="wide-only"
          icon="copy"
          label="Copy a curl command that lists the messages"
          onClick={() => void copy(curl, 'the command')}
        />
      </div>
    </header>
  );
}

function Search({ filters, feed }: { filters: Filters; feed: Feed }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <form
      class="toolbar"
      aria-label="Search"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery(parseSearch(input.current?.value ?? ''));
      }}
    >
      <span class="search">
        <Icon name="search" />
        <input
          ref={input}
          type="search"
          aria-label="Search messages"
          placeholder="Text, from:, to:, subject:, has:attachment"
          defaultValue={searchText(filters)}
          onSearch={(event: Event) => {
            if ((event.currentTarget as HTMLInputElement).value === '') setQuery(parseSearch(''));
          }}
        />
      </span>
      <IconButton icon="refresh" label="Load again" onClick={feed.reload} />
    </form>
  );
}

function List({
  feed,
  inbox,
  filters,
  open,
}: {
  feed: Feed;
  inbox: api.Inbox | undefined;
  filters: Filters;
  open: string | undefined;
}) {
  const messages = feed.messages.value;
  const error = feed.error.value;
  const isAtTop = useRef(true);
  if (messages.length === 0) {
    if (error !== undefined) return <Failure error={error} retry={feed.reload} />;
    if (feed.isLoading.value || !inbox) return <Loading />;
    if (Object.keys(filters).length === 0) return <Empty inbox={inbox} />;
    return (
      <Notice icon="search" title="No message matches">
        <p>
          <Button onClick={() => setQuery(parseSearch(''))}>Show all messages</Button>{' '}
          <a href={href(`/inboxes/${inbox.id}/why`, { ...filters, hasAttachments: null })}>
            Why nothing came
          </a>
        </p>
      </Notice>
    );
  }
  const isWaiting = feed.unseen.value > 0 && !isAtTop.current;
  return (
    <>
      {error !== undefined && connection.value === 'open' && <Stale retry={feed.reload} />}
      <span class="visually-hidden" role="status">
        {feed.unseen.value > 0 && plural(feed.unseen.value, 'new message')}
      </span>
      {isWaiting && (
        <button
          type="button"
          class="pill"
          onClick={() => {
            document.querySelector('.pane-list .window')?.scrollTo({ top: 0 });
            feed.seen();
          }}
        >
          {count(feed.unseen.value)} new
        </button>
      )}
      <WindowList
        items={messages}
        rowHeight={rowHeight()}
        label="Messages"
        render={(message) => <MessageRow message={message} isOpen={message.id === open} />}
        onEnd={() => void feed.loadOlder()}
        onTop={(isTop) => {
          isAtTop.current = isTop;
          if (isTop) feed.seen();
        }}
      />
    </>
  );
}

/** The height of rows, which the tokens make larger for fingers. */
export const rowHeight = (): number =>
  Number.parseFloat(getComputedStyle(document.documentElement).getPropertyValue('--row')) || 76;

interface InboxProps {
  id: string;
  messageId?: string;
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

  // The figures of the head follow the list.
  const newest = messages[0]?.id;
  const first = useRef(true);
  useEffect(() => {
    if (first.current || newest === undefined) {
      first.current = newest === undefined;
      return;
    }
    const timer = setTimeout(inbox.reload, 400);
    return () => clearTimeout(timer);
  }, [newest]);

  const open = (message: api.MessageSummary | undefined) => {
    if (message)
      navigate(href(`/inboxes/${id}/messages/${message.id}`, Object.fromEntries(query.value)), {
        replace: messageId !== undefined,
      });
  };
  const at = messages.findIndex((message) => message.id === messageId);
  const focused = () =>
    Number(document.activeElement?.closest('.pane-list li')?.getAttribute('aria-posinset') ?? 0) - 1;
  const step = (by: number) => {
    const from = messageId === undefined ? focused() : at;
    const to = Math.min(messages.length - 1, Math.max(0, from + by));
    if (messageId !== undefined) open(messages[to]);
    focusRow(box.current, to, rowHeight());
  };
  const back = () => {
    if (messageId === undefined) return navigate(href(session.value?.inbox ? `/inboxes/${id}` : '/inboxes'));
    navigate(
      href(`/inboxes/${id}`, Object.fromEntries([...query.value].filter(([name]) => name !== 'view'))),
    );
    if (at >= 0) focusRow(box.current, at, rowHeight());
  };
  const remove = (message: api.MessageSummary | undefined) => {
    if (!message || !mayWrite.value) return;
    deleteLater(
      'The message is deleted',
      () => {
        feed.remove(message.id);
        if (message.id === messageId) back();
      },
      feed.reload,
      () =>
        mayfly.call('DELETE /v1/inboxes/{id}/messages/{messageId}', { path: { id, messageId: message.id } }),
    );
  };
  const current = () => messages[messageId === undefined ? focused() : at];
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    u: back,
    Escape: back,
    r: feed.reload,
    c: () => inbox.data && void copy(inbox.data.address, 'the address'),
    x: () => {
      const code = (current() ?? messages[0])?.codes[0];
      if (code) void copy(code.value, `code ${code.value}`);
    },
    Delete: () => remove(current()),
  });

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
