import { checkSetup } from '../accounts/check-setup.ts';
import { ensureFirstAccount } from '../accounts/first-start.ts';
import { createPlans } from '../accounts/plans.ts';
import { createEventBus } from '../events.ts';
import { ensureSink } from '../inboxes/sink.ts';
import type { GaugeSources } from '../operations/gauges.ts';
import { measureDisk, warnOfClock } from '../operations/gauges.ts';
import { createMetrics } from '../operations/metrics.ts';
import { createParsing } from '../reading/pool/parser-pool.ts';
import { UsageMeter } from '../usage/usage-meter.ts';
import { parseCidrs } from '../webhooks/outbound/address-guard.ts';
import { createResolve, systemResolve } from '../webhooks/outbound/resolve.ts';
import { createScheduleClock } from '../webhooks/schedule-clock.ts';
import { firstDomain, type StartDeps } from './deps.ts';
import { databasePath, openStore } from './store.ts';

/** The parts that all roles share. */
export type Shared = Awaited<ReturnType<typeof openShared>>;

/** On PostgreSQL the disk is not of this machine, and its figures are absent (NaN). */
const NO_DISK = { databaseBytes: Number.NaN, freeBytes: Number.NaN, totalBytes: Number.NaN };

/**
 * Opens the store and the parts that all roles share, and checks what the store holds against the configuration.
 * @param onFirstKey called with the generated key of the first account
 */
export async function openShared(given: StartDeps, onFirstKey?: (key: string) => void) {
  const { config, overrides, clock, log, opened } = given;
  const events = createEventBus();
  let writes = 0;
  const store = await openStore(given, events, (change) => {
    writes += change;
  });
  opened.onClose(() => store.close());
  const firstStart = await ensureFirstAccount(store, config.apiKey, clock.now());
  if (firstStart.made && config.apiKey === null) onFirstKey?.(firstStart.key);
  if (config.sink === 'on') await ensureSink(store, firstDomain(config), clock.now());

  const plans = createPlans(config.plans);
  const usage = new UsageMeter({ store, clock, log });
  usage.start();
  opened.onClose(() => usage.stop());
  await checkSetup({ store, plans, domains: config.domains, log });
  await warnOfClock({ store, clock, log });
  const parsing = createParsing({ clock });
  opened.onClose(() => parsing.close());
  const schedule = createScheduleClock(clock, () => store.upkeep.time());
  /** The roles that start add what they measure. */
  const gauges: GaugeSources = {
    clock,
    scheduleNow: schedule.now,
    store,
    measureDisk: async () =>
      config.databaseUrl === null ? measureDisk(databasePath(config.dataDir)) : NO_DISK,
    droppedLogLines: overrides.droppedLogLines,
    parserJobs: () => parsing.jobs,
    writes: () => writes,
  };
  const own = { store, firstStart, plans, usage, events, parsing, schedule, gauges };
  return { ...given, ...own, metrics: createMetrics(), guard: webhookGuard(given) };
}

/** Where webhooks may go, and how their names are resolved. */
function webhookGuard({ config, overrides }: StartDeps) {
  const allow = parseCidrs(config.webhookAllow.join(','));
  // Names of a private network matter only where the operator allows webhooks into one.
  const resolve =
    overrides.resolve ??
    createResolve({
      ...(config.dnsServers && { servers: config.dnsServers }),
      ...(allow.length > 0 && { fallback: systemResolve }),
    });
  // With open sign-up, messages must not show strangers which addresses names have in our network.
  return { allow, resolve, namesAddresses: config.signUpPlan === null };
}
