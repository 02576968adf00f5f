import type { api } from '@mayfly/client';
import type { Feed } from '../../lib/feed.ts';
import { href, setQuery } from '../../lib/router.ts';
import { mayWrite, session } from '../../lib/session.ts';
import { Button, Snippet } from '../../ui/basics.tsx';
import { Failure, Loading, Notice } from '../../ui/states.tsx';
import { sendTestMail } from '../connect/test-mail.ts';
import { FeedList } from './feed-list.tsx';
import type { Selection } from './selection.tsx';

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

/** All rows are of the inbox whose address is the heading. */
const noAddress = () => '';

interface ListProps {
  feed: Feed;
  /** Those of the feed that were not deleted. */
  messages: readonly api.MessageSummary[];
  inbox: api.Inbox | undefined;
  /** '' without a search. */
  q: string;
  open: string | undefined;
  selection: Selection;
}

/** The messages, or the state that the list is in. */
export function List({ feed, messages, inbox, q, open, selection }: ListProps) {
  const error = feed.error.value;
  // The head grows when the inbox is known: a list that is there before would be moved.
  if (messages.length > 0 && inbox)
    return (
      <FeedList
        feed={feed}
        messages={messages}
        label="Messages"
        open={open}
        addressOf={noAddress}
        selection={selection}
      />
    );
  if (error !== undefined) return <Failure error={error} retry={feed.reload} />;
  if (feed.isLoading.value || !inbox) return <Loading />;
  if (q === '') return <Empty inbox={inbox} />;
  return (
    <Notice icon="search" title="No message matches">
      <p>
        <Button onClick={() => setQuery({ q: null })}>Show all messages</Button>{' '}
        <a href={href(`/inboxes/${inbox.id}/why`)}>Why nothing came</a>
      </p>
    </Notice>
  );
}
