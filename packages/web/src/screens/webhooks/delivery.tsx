import type { api } from '@mayfly/client';
import { attempt, toast } from '../../lib/actions.ts';
import { href } from '../../lib/router.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { duration, exact, now } from '../../lib/time.ts';
import { Badge, Button, CopyButton, ScreenHead, Snippet } from '../../ui/basics.tsx';
import { Notice } from '../../ui/states.tsx';
import { STATE_KINDS } from './deliveries.tsx';

const Attempt = ({ one, number }: { one: api.DeliveryAttempt; number: number }) => (
  <li class="seen">
    <div class="row-line">
      <b>Attempt {number}</b>
      <Badge kind={one.error ? 'bad' : 'ok'}>{one.status ?? one.error?.code}</Badge>
      <span class="cut muted">{one.error?.message}</span>
      <span class="small muted" title={exact(one.at)}>
        {one.durationMs} ms · {new Date(one.at).toLocaleTimeString()}
      </span>
    </div>
    {one.responseStart && <Snippet what="the response" text={one.responseStart} />}
  </li>
);

/** One event for one webhook, with all attempts. */
export function Delivery({
  webhook,
  delivery,
  onChange,
}: {
  webhook: api.Webhook;
  delivery: api.WebhookDelivery | undefined;
  onChange: () => void;
}) {
  if (!delivery) {
    return (
      <Notice icon="question" title="This delivery is not in the log" isScreen>
        <a href={href(`/webhooks/${webhook.id}`)}>Show the deliveries</a>
      </Notice>
    );
  }
  const replay = async () => {
    const path = { id: webhook.id, deliveryId: delivery.id };
    const done = await attempt(() =>
      mayfly.call('POST /v1/webhooks/{id}/deliveries/{deliveryId}/replay', { path }),
    );
    if (!done) return;
    toast('The event is sent again');
    onChange();
  };
  const due = delivery.nextAttemptAt ? Date.parse(delivery.nextAttemptAt) - now.value : null;
  const curl = `curl -X POST '${webhook.url.replaceAll("'", '%27')}' \\
  -H 'Content-Type: application/json' \\
  -H 'webhook-id: ${delivery.eventId}' \\
  -H "webhook-timestamp: $(date +%s)" \\
  -H 'webhook-signature: v1,SIGN-WITH-YOUR-SECRET' \\
  -d '{"id":"${delivery.eventId}","type":"message.received"}'`;
  return (
    <>
      <ScreenHead
        title="Delivery"
        lead={
          <a class="mono" href={href(`/webhooks/${webhook.id}`)}>
            {webhook.url}
          </a>
        }
      >
        {mayWrite.value && (
          <Button
            icon="refresh"
            disabled={delivery.state === 'pending' || !webhook.enabled}
            onClick={() => void replay()}
          >
            Replay
          </Button>
        )}
      </ScreenHead>
      <div class="page">
        <dl class="facts">
          <dt>State</dt>
          <dd>
            <Badge kind={STATE_KINDS[delivery.state]}>{delivery.state}</Badge> {delivery.reason}
          </dd>
          {due !== null && (
            <>
              <dt>Next attempt</dt>
              <dd>{due <= 0 ? 'due' : `in ${duration(due)}`}</dd>
            </>
          )}
          <dt>Event</dt>
          <dd class="mono">
            {delivery.eventId} <CopyButton value={delivery.eventId} what="the id of the event" />
          </dd>
          <dt>Message</dt>
          <dd>
            {delivery.messageId && delivery.inboxId ? (
              <a class="mono" href={href(`/inboxes/${delivery.inboxId}/messages/${delivery.messageId}`)}>
                {delivery.messageId}
              </a>
            ) : (
              'a test event'
            )}
          </dd>
          <dt>Recorded</dt>
          <dd>{exact(delivery.createdAt)}</dd>
        </dl>
        <section>
          <h2>Attempts</h2>
          {delivery.attempts.length === 0 && <p class="muted">None yet.</p>}
          <ol>
            {delivery.attempts.map((one, index) => (
              <Attempt key={one.at} one={one} number={index + 1} />
            ))}
          </ol>
        </section>
        <section>
          <h2>A request like it</h2>
          <Snippet what="the command" text={curl} />
        </section>
      </div>
    </>
  );
}
