import type { api } from '@mayfly/client';
import { useCallback, useRef } from 'preact/hooks';
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
  addressOf: (inboxId: string) => string;
  isOfAll?: boolean;
  selection: Selection;
}

/** The messages of a feed. New ones come in above; while the list is scrolled, a button says how many. */
export function FeedList({ feed, messages, label, open, addressOf, isOfAll, selection }: FeedListProps) {
  const isAtTop = useRef(true);
  const box = useRef<HTMLDivElement>(null);
  const unseen = feed.unseen.value;
  const choose = useRef(selection.choose);
  choose.current = (index, isRange) => selection.choose(index, isRange);
  const shown = useRef(messages);
  shown.current = messages;
  const { ids } = selection;
  const render = useCallback(
    (message: api.MessageSummary) => (
      <MessageRow
        message={message}
        isOpen={message.id === open}
        addressOf={addressOf}
        isOfAll={isOfAll ?? false}
        isChosen={ids.has(message.id)}
        onChoose={(isRange) => choose.current(shown.current.indexOf(message), isRange)}
      />
    ),
    [open, addressOf, isOfAll, ids],
  );
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
        render={render}
        onEnd={() => void feed.loadOlder()}
        onTop={(isTop) => {
          isAtTop.current = isTop;
          if (isTop) feed.seen();
        }}
      />
    </div>
  );
}
