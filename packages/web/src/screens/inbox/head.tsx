import type { api } from '@mayfly/client';
import { useState } from 'preact/hooks';
import { attempt, copy, deleteLater, toast } from '../../lib/actions.ts';
import { plural } from '../../lib/format.ts';
import { href, navigate } from '../../lib/router.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { duration, exact, serverNow } from '../../lib/time.ts';
import { Badge, CopyButton, Verb } from '../../ui/basics.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icons.tsx';
import { sendTestMail } from '../connect/test-mail.ts';
import { isSink, TimeLeft } from '../inboxes/row.tsx';

const MINUTE_MS = 60_000;

/** Extends by an hour, or as far as the plan allows. */
async function extend(inbox: api.Inbox): Promise<api.Inbox | undefined> {
  const minutesTo = (time: string) => (Date.parse(time) - serverNow()) / MINUTE_MS;
  const longest = Math.floor(minutesTo(inbox.maxExpiresAt));
  const ttlMinutes = Math.max(1, Math.min(Math.ceil(minutesTo(inbox.expiresAt)) + 60, longest));
  const updated = await attempt(() =>
    mayfly.call('PATCH /v1/inboxes/{id}', { path: { id: inbox.id }, body: { ttlMinutes } }),
  );
  if (!updated) return undefined;
  const isLonger = Date.parse(updated.expiresAt) - Date.parse(inbox.expiresAt) > MINUTE_MS;
  const left = duration(Date.parse(updated.expiresAt) - serverNow());
  toast(
    isLonger
      ? `Extended: ${left} left`
      : `The inbox has ${left} left, which is the longest that the plan allows`,
  );
  return updated;
}

interface HeadProps {
  inbox: api.Inbox | undefined;
  id: string;
  onChange: (inbox: api.Inbox) => void;
  /** Called after all messages were deleted. */
  onEmptied: () => void;
  /** True beside a message, whose subject is the heading of the screen. */
  isBeside: boolean;
}

const curlOf = (id: string): string =>
  `curl ${location.origin}/v1/inboxes/${id}/messages -H "Authorization: Bearer $MAYFLY_API_KEY"`;

/** What changes the inbox; nothing for who only reads. Deleting the inbox is not beside deleting its messages. */
function Verbs({ inbox, onChange, onEmptied }: HeadProps & { inbox: api.Inbox }) {
  const [isEmptying, setEmptying] = useState(false);
  const { id, address, messageCount } = inbox;
  const remove = () => {
    navigate(href('/inboxes'));
    deleteLater({
      ids: [id],
      text: `${address} is deleted`,
      remove: () => mayfly.call('DELETE /v1/inboxes/{id}', { path: { id } }),
      onUndo: () => navigate(href(`/inboxes/${id}`)),
    });
  };
  const empty = async () => {
    const done = await attempt(async () => {
      await mayfly.call('DELETE /v1/inboxes/{id}/messages', { path: { id } });
      return true;
    });
    if (done) onEmptied();
  };
  return (
    <>
      <Verb
        class="wide-only"
        icon="send"
        label="Send a test mail"
        onClick={() => void sendTestMail(id, address)}
      />
      {messageCount > 0 && (
        <Verb icon="empty" label="Delete all messages" onClick={() => setEmptying(true)} />
      )}
      {!isSink(inbox) && (
        <Verb
          icon="clock"
          label="Extend by an hour"
          onClick={async () => {
            const updated = await extend(inbox);
            if (updated) onChange(updated);
          }}
        />
      )}
      {messageCount > 0 && (
        <a
          class="button verb wide-only"
          href={`/v1/inboxes/${id}/export`}
          download
          data-tip="Download all messages"
          aria-label="Download all messages"
        >
          <Icon name="download" />
          <span class="verb-label">Download all messages</span>
        </a>
      )}
      <Verb
        class="wide-only"
        icon="terminal"
        label="Copy as curl"
        onClick={() => void copy(curlOf(id), 'a curl command that lists the messages')}
      />
      {!isSink(inbox) && <Verb class="apart" icon="trash" label="Delete the inbox" onClick={remove} />}
      {isEmptying && (
        <Confirm
          title="Delete all messages"
          verb={`Delete ${plural(messageCount, 'message')}`}
          onConfirm={() => void empty()}
          onClose={() => setEmptying(false)}
        >
          <p>
            All messages of <b class="mono">{address}</b> are deleted at once. The inbox stays. This cannot be
            undone.
          </p>
        </Confirm>
      )}
    </>
  );
}

/** The address with what is left of the inbox's life, and the verbs. */
export function Head(props: HeadProps) {
  const { inbox, id } = props;
  const Heading = props.isBeside ? 'h2' : 'h1';
  return (
    <header class="screen-head">
      <div class="screen-title">
        <Heading class="address" tabIndex={-1}>
          {inbox ? inbox.address : id} {inbox && <CopyButton value={inbox.address} what="the address" />}
        </Heading>
        {!inbox && <div class="lead small">&nbsp;</div>}
        {inbox && (
          <div class="lead badges small">
            {inbox.phoneNumber && (
              <span class="badges">
                {inbox.phoneNumber} <CopyButton value={inbox.phoneNumber} what="the telephone number" />
              </span>
            )}
            <span>{plural(inbox.messageCount, 'mail')}</span>
            <span title={exact(inbox.expiresAt)} class="badges separated">
              <TimeLeft inbox={inbox} />
            </span>
            {inbox.full && <Badge kind="bad">full: new mail is refused</Badge>}
            {Object.entries(inbox.labels).map(([name, value]) => (
              <a
                class="chip cut"
                key={name}
                href={href('/inboxes', { [`label.${name}`]: value })}
                title={`Show all inboxes with ${name}=${value}`}
              >
                {name}={value}
              </a>
            ))}
          </div>
        )}
      </div>
      <div class="verbs">
        <a class="button" href={href(`/inboxes/${id}/why`)}>
          <Icon name="question" /> Why nothing came
        </a>
        {inbox && (
          <a
            class="button verb"
            href={href(`/inboxes/${id}/sent`)}
            data-tip="Replies and bounces"
            aria-label="Replies and bounces"
          >
            <Icon name="reply" />
            <span class="verb-label">Replies and bounces</span>
          </a>
        )}
        {mayWrite.value && inbox && <Verbs {...props} inbox={inbox} />}
      </div>
    </header>
  );
}
