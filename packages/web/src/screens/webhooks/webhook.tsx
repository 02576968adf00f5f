import type { api } from '@mayfly/client';
import { useRef, useState } from 'preact/hooks';
import { attempt, toast } from '../../lib/actions.ts';
import { useKeys } from '../../lib/keys.ts';
import { loadPages } from '../../lib/pages.ts';
import { useQuery } from '../../lib/query.ts';
import { useRefresh } from '../../lib/refresh.ts';
import { href, navigate, query } from '../../lib/router.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { Ago, Button, ScreenHead } from '../../ui/basics.tsx';
import { Confirm } from '../../ui/dialog.tsx';
import { Icon } from '../../ui/icons.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Deliveries, stateIn } from './deliveries.tsx';
import { Delivery } from './delivery.tsx';
import { Hours } from './hours.tsx';
import { SecretDialog, WebhookState } from './webhooks.tsx';

/** As many as the API returns at once. */
const PAGE = 200;
/** A delivery is looked for among so many of the newest. */
const MAX_PAGES = 25;

/** Deliveries of a webhook, newest first, until one is found. */
async function findDelivery(
  id: string,
  deliveryId: string,
  signal: AbortSignal,
): Promise<api.WebhookDelivery | undefined> {
  let before: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const { deliveries, hasMore } = await mayfly.call('GET /v1/webhooks/{id}/deliveries', {
      path: { id },
      query: { limit: PAGE, ...(before && { before }) },
      signal,
    });
    const found = deliveries.find((one) => one.id === deliveryId);
    // Ids are in the order of time: older pages do not have it either.
    before = deliveries.at(-1)?.id;
    if (found || !hasMore || before === undefined || before < deliveryId) return found;
  }
  return undefined;
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
  const [isPausing, setPausing] = useState(false);
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
  const path = { id };
  const enable = (enabled: boolean) =>
    void run(
      () => mayfly.call('PATCH /v1/webhooks/{id}', { path, body: { enabled } }),
      enabled ? 'Enabled' : 'Paused',
    );
  return (
    <>
      <Button
        icon="send"
        disabled={!webhook.enabled}
        onClick={() =>
          void run(() => mayfly.call('POST /v1/webhooks/{id}/test', { path }), 'A test event is on its way')
        }
      >
        Send a test
      </Button>
      <Button
        icon={webhook.enabled ? 'pause' : 'play'}
        onClick={() => (webhook.enabled ? setPausing(true) : enable(true))}
      >
        {webhook.enabled ? 'Pause' : 'Enable'}
      </Button>
      <Button
        icon="key"
        onClick={async () => {
          const rotated = await attempt(() => mayfly.call('POST /v1/webhooks/{id}/rotate-secret', { path }));
          if (rotated) onSecret(rotated.secret);
        }}
      >
        New secret
      </Button>
      <Button icon="trash" kind="danger" onClick={() => setDeleting(true)}>
        Delete
      </Button>
      {isPausing && (
        <Confirm
          title="Pause the webhook"
          verb="Pause"
          onClose={() => setPausing(false)}
          onConfirm={() => enable(false)}
        >
          <p>
            Pending deliveries are cancelled, and new messages are not sent. Once it is enabled again,
            cancelled deliveries can be replayed.
          </p>
        </Confirm>
      )}
      {isDeleting && (
        <Confirm
          title="Delete the webhook"
          verb="Delete"
          onClose={() => setDeleting(false)}
          onConfirm={() =>
            void attempt(async () => {
              await mayfly.call('DELETE /v1/webhooks/{id}', { path });
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

/** Why a webhook fails, by the newest attempt that is known. */
function Failing({
  webhook: { failingSince, enabled },
  deliveries,
}: {
  webhook: api.Webhook;
  deliveries: readonly api.WebhookDelivery[];
}) {
  if (failingSince === null || !enabled) return null;
  const attempts = deliveries.flatMap((one) => one.attempts).filter(({ error }) => error !== null);
  const last = attempts.sort((a, b) => (a.at < b.at ? 1 : -1))[0];
  return (
    <div class="banner" role="status">
      <Icon name="warn" />
      <span>
        Failing since <Ago time={failingSince} />
        {last && `. The last attempt: ${last.error?.message}`}
      </span>
    </div>
  );
}

/** When the next attempt of these deliveries is due, milliseconds since 1970; undefined when none is pending. */
function dueOf(deliveries: readonly api.WebhookDelivery[]): number | undefined {
  const times = deliveries
    .filter(({ state }) => state === 'pending')
    .map(({ nextAttemptAt }) => (nextAttemptAt ? Date.parse(nextAttemptAt) : 0));
  return times.length > 0 ? Math.min(...times) : undefined;
}

/** One delivery of a webhook. */
function One({ id, deliveryId }: { id: string; deliveryId: string }) {
  const loaded = useQuery(`delivery ${deliveryId}`, async (signal) => {
    const [webhook, delivery] = await Promise.all([
      mayfly.call('GET /v1/webhooks/{id}', { path: { id }, signal }),
      findDelivery(id, deliveryId, signal),
    ]);
    return { webhook, delivery };
  });
  useKeys({ r: loaded.reload, Escape: () => navigate(href(`/webhooks/${id}`)) });
  useRefresh(dueOf(loaded.data?.delivery ? [loaded.data.delivery] : []), loaded.data, loaded.reload);
  return (
    <div class="screen">
      <Loaded query={loaded} isScreen>
        {({ webhook, delivery }) => (
          <Delivery webhook={webhook} delivery={delivery} onChange={loaded.reload} />
        )}
      </Loaded>
    </div>
  );
}

/** Deliveries, as many as are wanted. @param state null for those in any state */
const loadDeliveries = (id: string, state: ReturnType<typeof stateIn>, most: number, signal: AbortSignal) =>
  loadPages(async (range) => {
    const query = { ...range, ...(state && { state }) };
    const page = await mayfly.call('GET /v1/webhooks/{id}/deliveries', { path: { id }, query, signal });
    return { items: page.deliveries, hasMore: page.hasMore };
  }, most);

/** A webhook with its deliveries. */
function All({ id }: { id: string }) {
  const [secret, setSecret] = useState('');
  const state = stateIn(query.value);
  const most = useRef(PAGE);
  const loaded = useQuery(`webhook ${id}`, async (signal) => {
    const [webhook, all] = await Promise.all([
      mayfly.call('GET /v1/webhooks/{id}', { path: { id }, signal }),
      loadDeliveries(id, undefined, most.current, signal),
    ]);
    return { webhook, all };
  });
  // The plot counts all states, whichever the list shows.
  const ofState = useQuery(`deliveries ${id} ${state}`, async (signal) =>
    state ? loadDeliveries(id, state, most.current, signal) : null,
  );
  const reload = () => {
    loaded.reload();
    ofState.reload();
  };
  useKeys({ r: reload, Escape: () => navigate(href('/webhooks')) });
  useRefresh(dueOf(loaded.data?.all.items ?? []), loaded.data, reload);
  return (
    <div class="screen">
      <Loaded query={loaded} isScreen>
        {({ webhook, all }) => (
          <>
            <ScreenHead
              title={<span class="mono">{webhook.url}</span>}
              lead={
                <span class="badges">
                  <WebhookState webhook={webhook} /> {webhook.description}
                </span>
              }
            >
              {mayWrite.value && <Verbs webhook={webhook} onChange={reload} onSecret={setSecret} />}
            </ScreenHead>
            <Failing webhook={webhook} deliveries={all.items} />
            {webhook.disabledReason && (
              <div class="banner" role="status">
                <Icon name="warn" /> Disabled: {webhook.disabledReason}
              </div>
            )}
            <div class="page">
              <Hours deliveries={all.items} isWhole={!all.hasMore} />
              <Deliveries
                webhookId={id}
                query={state ? ofState : { ...loaded, data: all, error: undefined }}
                onChange={reload}
                onOlder={(shown) => {
                  most.current = shown + PAGE;
                  reload();
                }}
              />
            </div>
          </>
        )}
      </Loaded>
      {secret && <SecretDialog title="The new secret" secret={secret} onClose={() => setSecret('')} />}
    </div>
  );
}

/** A webhook with its deliveries; with `deliveryId`, that delivery. */
export const Webhook = ({ id, deliveryId }: { id: string; deliveryId?: string }) =>
  deliveryId ? <One id={id} deliveryId={deliveryId} /> : <All id={id} />;
