import type { api } from '@mayfly/client';
import { count } from '../../lib/format.ts';
import { href } from '../../lib/router.ts';
import { duration, now } from '../../lib/time.ts';
import { Meter } from '../../ui/bars.tsx';
import { Ago, Badge } from '../../ui/basics.tsx';

/** Inboxes that expire so soon are marked, milliseconds. */
const SOON_MS = 5 * 60_000;
export const isSink = (inbox: api.Inbox): boolean => inbox.labels.mayfly === 'sink';

/** What is left of an inbox's life, in words and as a bar. */
export function TimeLeft({ inbox }: { inbox: api.Inbox }) {
  if (isSink(inbox)) return <span>permanent</span>;
  const left = Date.parse(inbox.expiresAt) - now.value;
  const whole = Date.parse(inbox.expiresAt) - Date.parse(inbox.createdAt);
  const words = left <= 0 ? 'expired' : `${duration(left)} left`;
  return (
    <>
      <span>{words}</span>
      <Meter share={left / whole} label={words} kind={left < SOON_MS ? 'warn' : undefined} />
    </>
  );
}

/** An inbox in the list. */
export const InboxRow = ({ inbox }: { inbox: api.Inbox }) => (
  <a class="row inbox-row" href={href(`/inboxes/${inbox.id}`)}>
    <span>
      <span class="row-line">
        <span class="address cut">
          {inbox.catchAll ? inbox.address.replace(/^[^@]+/, '*') : inbox.address}
        </span>
      </span>
      <span class="labels">
        {isSink(inbox) && <Badge kind="info">takes all other mail</Badge>}
        {inbox.catchAll && <Badge kind="info">catch-all</Badge>}
        {inbox.full && <Badge kind="bad">full</Badge>}
        {Object.entries(inbox.labels)
          .filter(([name]) => name !== 'mayfly')
          .map(([name, value]) => (
            <span class="chip" key={name}>
              {name}={value}
            </span>
          ))}
        {Object.keys(inbox.labels).length === 0 && !inbox.catchAll && (
          <span class="small muted">no labels</span>
        )}
      </span>
    </span>
    <span class="row-side">
      <span>
        <b>{count(inbox.messageCount)}</b> {inbox.messageCount === 1 ? 'mail' : 'mails'}
        {inbox.lastMessageAt && (
          <>
            {' · '}
            <Ago time={inbox.lastMessageAt} />
          </>
        )}
      </span>
      <TimeLeft inbox={inbox} />
    </span>
  </a>
);
