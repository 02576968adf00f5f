import type { api } from '@mayfly/client';
import { useEffect, useState } from 'preact/hooks';
import { attempt, toast } from '../../lib/actions.ts';
import { useKeys } from '../../lib/keys.ts';
import { onArrivals } from '../../lib/live.ts';
import { useQuery } from '../../lib/query.ts';
import { href, navigate, query } from '../../lib/router.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { now } from '../../lib/time.ts';
import { Bars } from '../../ui/bars.tsx';
import { Button, ScreenHead } from '../../ui/basics.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Deliveries, stateIn } from './deliveries.tsx';
import { Delivery } from './delivery.tsx';
import { SecretDialog, WebhookState } from './webhooks.tsx';

const HOUR_MS = 3_600_000;
/** As many as the API returns at once. */
const MAX_SHOWN = 200;

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

/** A webhook with its deliveries; with `deliveryId`, that delivery. */
export function Webhook({ id, deliveryId }: { id: string; deliveryId?: string }) {
  const [secret, setSecret] = useState('');
  const state = stateIn(query.value);
  const loaded = useQuery(`webhook ${id} ${state}`, async (signal) => {
    const path = { id };
    const [webhook, { deliveries }] = await Promise.all([
      mayfly.call('GET /v1/webhooks/{id}', { path, signal }),
      mayfly.call('GET /v1/webhooks/{id}/deliveries', {
        path,
        query: { limit: MAX_SHOWN, ...(state && { state }) },
        signal,
      }),
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
  return (
    <div class="screen">
      <Loaded query={loaded} isScreen>
        {({ webhook, deliveries }) => {
          const one = deliveries.find((delivery) => delivery.id === deliveryId);
          if (deliveryId) return <Delivery webhook={webhook} delivery={one} onChange={loaded.reload} />;
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
                <Deliveries webhookId={id} deliveries={deliveries} onChange={loaded.reload} />
              </div>
            </>
          );
        }}
      </Loaded>
      {secret && <SecretDialog title="The new secret" secret={secret} onClose={() => setSecret('')} />}
    </div>
  );
}
