import type { api } from '@mayfly/client';
import { useRef } from 'preact/hooks';
import type { Feed } from '../../lib/feed.ts';
import { count, plural } from '../../lib/format.ts';
import { connection } from '../../lib/live.ts';
import { href, setQuery } from '../../lib/router.ts';
import { mayWrite, session } from '../../lib/session.ts';
import { Button, Snippet } from '../../ui/basics.tsx';
import { Failure, Loading, Notice, Stale } from '../../ui/states.tsx';
import { WindowList } from '../../ui/window-list.tsx';
import { sendTestMail } from '../connect/test-mail.ts';
import { MessageRow } from '../message/row.tsx';
import { type Filters, parseSearch } from './search.tsx';

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

/** The messages, or the state that the list is in. */
export function List({
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
