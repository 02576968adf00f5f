import type { api } from '@mayfly/client';
import { attempt, copy, deleteLater, toast } from '../../lib/actions.ts';
import { plural } from '../../lib/format.ts';
import { href, navigate } from '../../lib/router.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { exact } from '../../lib/time.ts';
import { Badge, CopyButton, IconButton } from '../../ui/basics.tsx';
import { Icon } from '../../ui/icons.tsx';
import { sendTestMail } from '../connect/test-mail.ts';
import { isSink, TimeLeft } from '../inboxes/row.tsx';

/** The address with what is left of the inbox's life, and the verbs. */
export function Head({
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
