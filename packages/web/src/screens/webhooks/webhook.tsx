import type { api } from '@mayfly/client';
import { useEffect, useState } from 'preact/hooks';
import { attempt, toast } from '../../lib/actions.ts';
import { plural } from '../../lib/format.ts';
import { useKeys } from '../../lib/keys.ts';
import { onArrivals } from '../../lib/live.ts';
import { useQuery } from '../../lib/query.ts';
import { href, navigate, query, setQuery } from '../../lib/router.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { duration, exact, now } from '../../lib/time.ts';
import { Bars } from '../../ui/bars.tsx';
import { Ago, Badge, Button, ScreenHead } from '../../ui/basics.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Delivery } from './delivery.tsx';
import { SecretDialog, WebhookState } from './webhooks.tsx';

const STATES = ['pending', 'delivered', 'failed', 'cancelled'] as const;
type State = (typeof STATES)[number];
export const STATE_KINDS: Record<State, 'ok' | 'bad' | 'info' | undefined> = {
  pending: 'info',
  delivered: 'ok',
  failed: 'bad',
  cancelled: undefined,
};
const HOUR_MS = 3_600_000;

/** Deliveries of the last 24 hours, an hour a bar. */
function Hours({ deliveries }: { deliveries: readonly api.WebhookDelivery[] }) {
  const bars = Array.from({ length: 24 }, (_, index) => {
    const end = now.value - (23 - index) * HOUR_MS;
    const own = deliveries.filter(({ createdAt }) => {
      const at = Date.parse(createdAt);
      return at <= end && at > end - HOUR_MS;
    });
    const hasFailed = own.some(({ state }) => state === 'failed');
    return { label: `${23 - index} h ago`, value: own.length, ...(hasFailed && { kind: 'bad' as const }) };
  });
  return <Bars bars={bars} label={`Deliveries of the last 24 hours: ${deliveries.length} in the list`} />;
}

function Verbs({
  webhook,
  onChange,
  onSecret,
}: {
  webhook: api.Webhook;
  onChange: () => void;
  onSecret: (secret: string) => void;
}) {
  const [isDeleting, setDeleting] = useState(false);
  const { id } = webhook;
  const run = async (work: () => Promise<unknown>, words: string) => {
    const done = await attempt(async () => {
      await work();
      return true;
    });
    if (!done) return;
    toast(words);
    onChange();
  };
  return (
    <>
      <Button
        icon="send"
        disabled={!webhook.enabled}
        onClick={() => void run(() => mayfly.webhooks.test(id), 'A test event is on its way')}
      >
        Send a test
      </Button>
      <Button
        icon={webhook.enabled ? 'pause' : 'play'}
        onClick={() =>
          void run(
            () => mayfly.webhooks.update(id, { enabled: !webhook.enabled }),
            webhook.enabled ? 'Paused' : 'Enabled',
          )
        }
      >
        {webhook.enabled ? 'Pause' : 'Enable'}
      </Button>
      <Button
        icon="key"
        onClick={async () => {
          const rotated = await attempt(() => mayfly.webhooks.rotateSecret(id));
          if (rotated) onSecret(rotated.secret);
        }}
      >
        New secret
      </Button>
      <Button icon="trash" kind="danger" onClick={() => setDeleting(true)}>
        Delete
      </Button>
      {isDeleting && (
        <Confirm
          title="Delete the webhook"
          verb="Delete"
          onClose={() => setDeleting(false)}
          onConfirm={() =>
            void attempt(async () => {
              await mayfly.webhooks.delete(id);
              navigate(href('/webhooks'));
            })
          }
        >
          <p>Pending deliveries are cancelled, and the log of deliveries is deleted.</p>
        </Confirm>
      )}
    </>
  );
}

/** One line a delivery: what happened last, and when the next attempt is due. */
function Row({ delivery, webhookId }: { delivery: api.WebhookDelivery; webhookId: string }) {
  const last = delivery.attempts.at(-1);
  const due = delivery.nextAttemptAt ? Date.parse(delivery.nextAttemptAt) - now.value : null;
  return (
    <tr>
      <td>
        <a href={href(`/webhooks/${webhookId}/deliveries/${delivery.id}`)} title={exact(delivery.createdAt)}>
          <Ago time={delivery.createdAt} />
        </a>
      </td>
      <td>
        <Badge kind={STATE_KINDS[delivery.state]}>{delivery.state}</Badge>
      </td>
      <td>{last ? (last.status ?? last.error?.code) : 'no attempt yet'}</td>
      <td class="number">{delivery.attempts.length}</td>
      <td>{due === null ? '' : due <= 0 ? 'now' : `next in ${duration(due)}`}</td>
      <td class="mono small">{delivery.messageId === null ? 'test event' : delivery.eventId}</td>
    </tr>
  );
}

async function replayFailed(id: string, deliveries: readonly api.WebhookDelivery[]): Promise<void> {
  let replayed = 0;
  for (const { id: deliveryId } of deliveries) {
    const done = await attempt(() => mayfly.webhooks.replay(id, deliveryId));
    if (!done) break;
    replayed += 1;
  }
  toast(`${plural(replayed, 'delivery').replace('deliverys', 'deliveries')} replayed`);
}

/** A webhook with its deliveries; with `deliveryId`, that delivery. */
export function Webhook({ id, deliveryId }: { id: string; deliveryId?: string }) {
  const [secret, setSecret] = useState('');
  const loaded = useQuery(`webhook ${id}`, async (signal) => {
    const path = { id };
    const [webhook, { deliveries }] = await Promise.all([
      mayfly.call('GET /v1/webhooks/{id}', { path, signal }),
      mayfly.call('GET /v1/webhooks/{id}/deliveries', { path, query: { limit: 200 }, signal }),
    ]);
    return { webhook, deliveries };
  });
  useKeys({ r: loaded.reload });
  const isPending = loaded.data?.deliveries.some(({ state }) => state === 'pending') ?? false;
  // Attempts are not in the stream of messages: a pending delivery is looked at again.
  useEffect(() => {
    if (!isPending) return;
    const timer = setInterval(() => !document.hidden && loaded.reload(), 2_000);
    return () => clearInterval(timer);
  }, [isPending]);
  useEffect(
    () =>
      onArrivals(() => {
        setTimeout(loaded.reload, 300);
      }),
    [],
  );
  const state = query.value.get('state');
  return (
    <div class="screen">
      <Loaded query={loaded} isScreen>
        {({ webhook, deliveries }) => {
          const one = deliveries.find((delivery) => delivery.id === deliveryId);
          if (deliveryId) return <Delivery webhook={webhook} delivery={one} onChange={loaded.reload} />;
          const shown = deliveries.filter((delivery) => !state || delivery.state === state);
          const failed = deliveries.filter((delivery) => delivery.state === 'failed');
          return (
            <>
              <ScreenHead
                title={<span class="mono">{webhook.url}</span>}
                lead={
                  <span class="badges">
                    <WebhookState webhook={webhook} /> {webhook.description}
                  </span>
                }
              >
                {mayWrite.value && <Verbs webhook={webhook} onChange={loaded.reload} onSecret={setSecret} />}
              </ScreenHead>
              {webhook.disabledReason && (
                <div class="banner" role="status">
                  <Icon name="warn" /> Disabled: {webhook.disabledReason}
                </div>
              )}
              <div class="page">
                <section class="panel">
                  <h2>The last 24 hours</h2>
                  <Hours deliveries={deliveries} />
                </section>
                <section>
                  <div class="row-line">
                    <h2 class="cut">Deliveries</h2>
                    {mayWrite.value && failed.length > 0 && (
                      <Button
                        icon="refresh"
                        onClick={async () => {
                          await replayFailed(id, failed);
                          loaded.reload();
                        }}
                      >
                        Replay {failed.length} failed
                      </Button>
                    )}
                  </div>
                  <div class="choices">
                    {['', ...STATES].map((one) => (
                      <Button
                        key={one}
                        aria-pressed={(state ?? '') === one}
                        onClick={() => setQuery({ state: one || null })}
                      >
                        {one || 'all'}
                      </Button>
                    ))}
                  </div>
                  {shown.length === 0 ? (
                    <p class="muted padded-line">
                      {deliveries.length === 0
                        ? 'Nothing was delivered yet. A new message, or “Send a test”, appears here.'
                        : 'No delivery is in that state.'}
                    </p>
                  ) : (
                    <div class="table-box">
                      <table>
                        <thead>
                          <tr>
                            <th scope="col">Recorded</th>
                            <th scope="col">State</th>
                            <th scope="col">Response</th>
                            <th scope="col" class="number">
                              Attempts
                            </th>
                            <th scope="col">Next</th>
                            <th scope="col">Event</th>
                          </tr>
                        </thead>
                        <tbody>
                          {shown.map((delivery) => (
                            <Row key={delivery.id} delivery={delivery} webhookId={id} />
                          ))}
                        </tbody>
                      </table>
                    </div>
                  )}
                </section>
              </div>
            </>
          );
        }}
      </Loaded>
      {secret && <SecretDialog title="The new secret" secret={secret} onClose={() => setSecret('')} />}
    </div>
  );
}
