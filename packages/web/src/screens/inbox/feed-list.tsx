import type { api } from '@mayfly/client';
import { useRef } from 'preact/hooks';
import type { Feed } from '../../lib/feed.ts';
import { count, plural } from '../../lib/format.ts';
import { connection } from '../../lib/live.ts';
import { Stale } from '../../ui/states.tsx';
import { WindowList } from '../../ui/window-list.tsx';
import { MessageRow } from '../message/row.tsx';
import type { Selection } from './selection.tsx';

interface FeedListProps {
  feed: Feed;
  /** Those of the feed that are shown; at least one. */
  messages: readonly api.MessageSummary[];
  label: string;
  /** Id of the message that is open. */
  open?: string | undefined;
  /** The address of a message's inbox; '' while it is not known. */
  addressOf: (message: api.MessageSummary) => string;
  isOfAll?: boolean;
  selection: Selection;
}

/** The messages of a feed. New ones come in above; while the list is scrolled, a button says how many. */
export function FeedList({ feed, messages, label, open, addressOf, isOfAll, selection }: FeedListProps) {
  const isAtTop = useRef(true);
  const box = useRef<HTMLDivElement>(null);
  const unseen = feed.unseen.value;
  return (
    <div class={`feed ${selection.isOn ? 'choosing' : ''}`} ref={box}>
      {feed.error.value !== undefined && connection.value === 'open' && <Stale retry={feed.reload} />}
      <span class="visually-hidden" role="status">
        {unseen > 0 && plural(unseen, 'new message')}
      </span>
      {unseen > 0 && !isAtTop.current && (
        <button
          type="button"
          class="pill"
          onClick={() => {
            box.current?.querySelector('.window')?.scrollTo({ top: 0 });
            feed.seen();
          }}
        >
          {count(unseen)} new
        </button>
      )}
      <WindowList
        items={messages}
        label={label}
        render={(message) => (
          <MessageRow
            message={message}
            isOpen={message.id === open}
            address={addressOf(message)}
            isOfAll={isOfAll ?? false}
            isChosen={selection.ids.has(message.id)}
            onChoose={(isRange) => selection.choose(messages.indexOf(message), isRange)}
          />
        )}
        onEnd={() => void feed.loadOlder()}
        onTop={(isTop) => {
          isAtTop.current = isTop;
          if (isTop) feed.seen();
        }}
      />
    </div>
  );
}
