import type { api } from '@mayfly/client';
import { useState } from 'preact/hooks';
import { attempt, toast } from '../../lib/actions.ts';
import { count } from '../../lib/format.ts';
import type { Query } from '../../lib/query.ts';
import { href, query, setQuery } from '../../lib/router.ts';
import { mayfly, mayWrite } from '../../lib/session.ts';
import { duration, exact, now, serverNow } from '../../lib/time.ts';
import { Ago, Badge, Button, Field } from '../../ui/basics.tsx';
import { Dialog, DialogForm } from '../../ui/dialog.tsx';
import { Loaded } from '../../ui/states.tsx';

const STATES = ['pending', 'delivered', 'failed', 'cancelled'] as const;
type State = (typeof STATES)[number];
export const STATE_KINDS: Record<State, 'ok' | 'bad' | 'info' | undefined> = {
  pending: 'info',
  delivered: 'ok',
  failed: 'bad',
  cancelled: undefined,
};
/** The state that the list is filtered by; undefined for all. */
export const stateIn = (search: URLSearchParams): State | undefined =>
  STATES.find((state) => state === search.get('state'));

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
      <td data-name="Response">{last ? (last.status ?? last.error?.code) : 'no attempt yet'}</td>
      <td data-name="Attempts" class="number">
        {delivery.attempts.length}
      </td>
      <td data-name="Next">{due === null ? '' : due <= 0 ? 'due' : `in ${duration(due)}`}</td>
      <td data-name="Event" class="mono small">
        {delivery.messageId === null ? 'test event' : delivery.eventId}
      </td>
    </tr>
  );
}

/** How far back a replay goes, hours; 0 for all that are kept. */
const AGES: [hours: number, words: string][] = [
  [0, 'all that are kept'],
  [1, 'of the last hour'],
  [24, 'of the last 24 hours'],
];

/** Asks which deliveries are attempted again, and has the server do it. */
function Replay({
  webhookId,
  onClose,
  onDone,
}: {
  webhookId: string;
  onClose: () => void;
  onDone: () => void;
}) {
  const submit = async (form: FormData) => {
    const hours = Number(form.get('hours'));
    const body: api.ReplayDeliveries = {
      state: form.get('state') as api.ReplayDeliveries['state'],
      ...(hours > 0 && { since: new Date(serverNow() - hours * 3_600_000).toISOString() }),
    };
    const path = { id: webhookId };
    const done = await attempt(() => mayfly.call('POST /v1/webhooks/{id}/deliveries/replay', { path, body }));
    if (!done) return;
    const { replayed } = done;
    toast(`${count(replayed)} ${replayed === 1 ? 'delivery is' : 'deliveries are'} attempted again`);
    onClose();
    onDone();
  };
  return (
    <Dialog title="Replay deliveries" onClose={onClose}>
      <DialogForm verb="Replay" onSubmit={submit} onClose={onClose}>
        <div class="form-grid">
          <Field label="Deliveries that">
            <select name="state" autofocus>
              <option value="failed">failed</option>
              <option value="cancelled">were cancelled</option>
              <option value="delivered">were delivered</option>
            </select>
          </Field>
          <Field label="Recorded">
            <select name="hours">
              {AGES.map(([hours, words]) => (
                <option key={hours} value={hours}>
                  {words}
                </option>
              ))}
            </select>
          </Field>
        </div>
        <p class="muted">Each is sent again with the same webhook-id, as its first attempt was.</p>
      </DialogForm>
    </Dialog>
  );
}

const Table = ({
  webhookId,
  deliveries,
}: {
  webhookId: string;
  deliveries: readonly api.WebhookDelivery[];
}) => (
  <div class="table-box">
    <table class="stacked">
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
        {deliveries.map((delivery) => (
          <Row key={delivery.id} delivery={delivery} webhookId={webhookId} />
        ))}
      </tbody>
    </table>
  </div>
);

interface DeliveriesProps {
  webhookId: string;
  /** Those that are shown. */
  query: Omit<Query<{ items: readonly api.WebhookDelivery[]; hasMore: boolean } | null>, 'set'>;
  onChange: () => void;
  /** Called with how many are shown, where older ones are wanted. */
  onOlder: (shown: number) => void;
}

/** The log of deliveries, filtered by state, and the replay of many. */
export function Deliveries({ webhookId, query: list, onChange, onOlder }: DeliveriesProps) {
  const [isReplaying, setReplaying] = useState(false);
  const state = stateIn(query.value);
  return (
    <section>
      <div class="row-line">
        <h2 class="cut">Deliveries</h2>
        {mayWrite.value && (list.data?.items.length ?? 0) > 0 && (
          <Button icon="refresh" onClick={() => setReplaying(true)}>
            Replay…
          </Button>
        )}
      </div>
      <div class="choices">
        {[undefined, ...STATES].map((one) => (
          <Button
            key={one ?? 'all'}
            aria-pressed={state === one}
            onClick={() => setQuery({ state: one ?? null })}
          >
            {one ?? 'all'}
          </Button>
        ))}
      </div>
      <Loaded query={list} rows={3}>
        {(page) =>
          !page || page.items.length === 0 ? (
            <p class="muted padded-line">
              {state
                ? 'No delivery is in that state.'
                : 'Nothing was delivered yet. A new message, or “Send a test”, appears here.'}
            </p>
          ) : (
            <>
              <Table webhookId={webhookId} deliveries={page.items} />
              {page.hasMore && (
                <p class="padded-line">
                  <Button disabled={list.isLoading} onClick={() => onOlder(page.items.length)}>
                    Show older deliveries
                  </Button>
                </p>
              )}
            </>
          )
        }
      </Loaded>
      {isReplaying && <Replay webhookId={webhookId} onClose={() => setReplaying(false)} onDone={onChange} />}
    </section>
  );
}
