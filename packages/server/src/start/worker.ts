import { randomFraction } from '../ids.ts';
import { sweepUntil } from '../store/sweeper.ts';
import { VERSION } from '../version.ts';
import { createDeliverer } from '../webhooks/deliverer.ts';
import { createSender } from '../webhooks/outbound/send.ts';
import { firstDomain } from './deps.ts';
import type { Shared } from './shared.ts';

/** Starts the work in the background: freeing space, and delivering webhooks. */
export async function startWorker(shared: Shared): Promise<void> {
  startSweeper(shared);
  await startDeliverer(shared);
}

/** Frees the space of what has expired or was deleted. */
function startSweeper({ store, clock, log, opened }: Shared): void {
  const sweeping = new AbortController();
  const swept = sweepUntil(sweeping.signal, { upkeep: store.upkeep, clock, log });
  opened.onClose(() => {
    sweeping.abort();
    return swept;
  });
}

async function startDeliverer(shared: Shared): Promise<void> {
  const { config, overrides, store, schedule, guard, events, metrics, clock, log, opened } = shared;
  // The embedded store has one server: no other process holds these leases.
  if (config.databaseUrl === null) await store.deliveries.releaseAll(clock.now());
  const deliverer = createDeliverer({
    store,
    schedule,
    sender: createSender({ ...guard, clock, userAgent: `Mayfly/${VERSION}` }),
    events,
    clock,
    log,
    metrics: metrics.webhooks,
    random: randomFraction,
    // Not where this node listens: another one may make the next attempt, with the same bytes.
    publicUrl: config.publicUrl ?? '',
    domain: firstDomain(config),
    retryDelays: overrides.retryDelays,
  });
  deliverer.start();
  opened.addListener(deliverer);
}
