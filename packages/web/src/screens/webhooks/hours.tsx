import type { api } from '@mayfly/client';
import { count } from '../../lib/format.ts';
import { now } from '../../lib/time.ts';
import { type Bar, Bars, Legend, type Series } from '../../ui/bars.tsx';

const HOUR_MS = 3_600_000;
const HOURS = 24;
const MINUTE_MS = 60_000;

const SERIES: readonly (Series & { has: (state: api.WebhookDelivery['state']) => boolean })[] = [
  { name: 'delivered', kind: 'ok', has: (state) => state === 'delivered' },
  { name: 'pending', kind: 'open', has: (state) => state === 'pending' },
  { name: 'failed', kind: 'bad', has: (state) => state === 'failed' },
  { name: 'cancelled', kind: 'off', has: (state) => state === 'cancelled' },
];

/** Deliveries of each of the last 24 hours by what became of them. */
function barsOf(deliveries: readonly api.WebhookDelivery[], until: number): Bar[] {
  return Array.from({ length: HOURS }, (_, index) => {
    const end = until - (HOURS - 1 - index) * HOUR_MS;
    const own = deliveries.filter(({ createdAt }) => {
      const at = Date.parse(createdAt);
      return at <= end && at > end - HOUR_MS;
    });
    return {
      label: `${HOURS - index} to ${HOURS - 1 - index} h ago`,
      values: SERIES.map(({ has }) => own.filter(({ state }) => has(state)).length),
    };
  });
}

/** @param isWhole false where the webhook has more deliveries than were loaded */
export function Hours({
  deliveries,
  isWhole,
}: {
  deliveries: readonly api.WebhookDelivery[];
  isWhole: boolean;
}) {
  // A delivery of now lies in the last hour, whatever the clocks; and minutes are exact enough.
  const bars = barsOf(deliveries, (Math.floor(now.value / MINUTE_MS) + 5) * MINUTE_MS);
  const totals = SERIES.map(({ name }, at) => {
    const total = bars.reduce((sum, { values }) => sum + (values[at] ?? 0), 0);
    return `${count(total)} ${name}`;
  });
  return (
    <section class="panel">
      <div class="row-line wrap apart">
        <h2>The last 24 hours</h2>
        <Legend bars={bars} series={SERIES} />
      </div>
      <Bars bars={bars} series={SERIES} label={`Deliveries of the last 24 hours: ${totals.join(', ')}`} />
      <p class="row-line small muted">
        <span class="cut">24 h ago</span>
        {!isWhole && <span>the newest {count(deliveries.length)} deliveries</span>}
        <span class="cut end">now</span>
      </p>
    </section>
  );
}
