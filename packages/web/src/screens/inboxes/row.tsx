import type { api } from '@mayfly/client';
import { count } from '../../lib/format.ts';
import { href } from '../../lib/router.ts';
import { duration, now } from '../../lib/time.ts';
import { Meter } from '../../ui/bars.tsx';
import { Ago, Badge, CopyButton } from '../../ui/basics.tsx';

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
      <Meter share={left / whole} label={words} kind={left < SOON_MS ? 'warn' : undefined} />
      <span>{words}</span>
    </>
  );
}

/** An inbox in the list. Its link covers the row; labels and the copy button lie above it. */
export const InboxRow = ({ inbox }: { inbox: api.Inbox }) => (
  <div class="row inbox-row">
    <span class="row-line">
      <a class="address cut row-link" href={href(`/inboxes/${inbox.id}`)}>
        {inbox.catchAll ? inbox.address.replace(/^[^@]+/, '*') : inbox.address}
      </a>
      {!inbox.catchAll && <CopyButton value={inbox.address} what="the address" />}
    </span>
    <span class="row-side">
      {inbox.lastMessageAt && (
        <span class="last-mail" title="The newest mail">
          <Ago time={inbox.lastMessageAt} />
        </span>
      )}
      <span>
        <b>{count(inbox.messageCount)}</b> {inbox.messageCount === 1 ? 'mail' : 'mails'}
      </span>
    </span>
    <span class="labels">
      {isSink(inbox) && <Badge kind="info">takes all other mail</Badge>}
      {inbox.catchAll && <Badge kind="info">catch-all</Badge>}
      {inbox.full && <Badge kind="bad">full</Badge>}
      {Object.entries(inbox.labels)
        .filter(([name]) => name !== 'mayfly')
        .map(([name, value]) => (
          <a
            class="chip"
            key={name}
            href={href('/inboxes', { [`label.${name}`]: value })}
            title={`Show all inboxes with ${name}=${value}`}
          >
            {name}={value}
          </a>
        ))}
      {Object.keys(inbox.labels).length === 0 && !inbox.catchAll && <span class="muted">no labels</span>}
    </span>
    <span class="row-side">
      <TimeLeft inbox={inbox} />
    </span>
  </div>
);
