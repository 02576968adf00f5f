/**
 * The API on a store of its own, for one account with a quota and a rate limit that are never reached:
 * `with` the gate that every request passes (authentication, limits, quota), `without` it, or `silent`:
 * with it, but without the headers that tell of the limits in every answer.
 */
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import { newKey } from '../../packages/server/src/accounts/keys.ts';
import { createPlans } from '../../packages/server/src/accounts/plans.ts';
import type { AccountRecord, KeyRecord } from '../../packages/server/src/accounts/sql.ts';
import { systemClock } from '../../packages/server/src/clock.ts';
import { parseConfig } from '../../packages/server/src/config/config.ts';
import { createSignInCodes } from '../../packages/server/src/console/sign-in-codes.ts';
import { openSqlite } from '../../packages/server/src/database/sqlite/open.ts';
import { createEventBus } from '../../packages/server/src/events.ts';
import { RateLimit } from '../../packages/server/src/http/access/admission.ts';
import { createGate, type Gate } from '../../packages/server/src/http/access/gate.ts';
import type { HttpDeps } from '../../packages/server/src/http/context.ts';
import { buildApp } from '../../packages/server/src/http/server.ts';
import { hashCredential, newId } from '../../packages/server/src/ids.ts';
import type { ByteBudget } from '../../packages/server/src/inbound/incoming-mail.ts';
import type { Receiver } from '../../packages/server/src/inbound/receiver.ts';
import type { InboxRecord } from '../../packages/server/src/inboxes/records.ts';
import { createLog } from '../../packages/server/src/log.ts';
import { Parsing } from '../../packages/server/src/reading/parsing.ts';
import type { Store } from '../../packages/server/src/store.ts';
import { UsageMeter } from '../../packages/server/src/usage/usage-meter.ts';
import { createNewWebhooks } from '../../packages/server/src/webhooks/new-webhook.ts';

/** Blocks of this month are leased as large as on the plan `developer`: a thousand requests. */
const PLAN = { requestsPerMonth: 1e9, requestsPerSecond: 1e6, burst: 1e6 };

const [mode = '', path = ''] = process.argv.slice(2);
const clock = systemClock;
const log = createLog('warn');
const store = await openSqlite({ path });
const plans = createPlans({ developer: PLAN });
const usage = new UsageMeter({ store, clock, log });
usage.start();
const guard = { allow: [], resolve: async () => [] };
const events = createEventBus();
const deps: HttpDeps = {
  ...{ store, clock, log, plans, usage, events, metrics: new Registry(), rate: new RateLimit(clock) },
  parsing: new Parsing(),
  refusalsWritten: async () => undefined,
  repliedAt: () => null,
  // Not called: no request of the benchmark stores mail.
  receiver: {} as Receiver,
  budget: {} as ByteBudget,
  replays: { start: () => undefined },
  waitLog: { add: () => undefined, addHeld: () => undefined, flushed: async () => undefined },
  newWebhooks: createNewWebhooks({ guard, clock, plans }),
  signInCodes: createSignInCodes(),
};

const createdAt = clock.now();
const account: AccountRecord = {
  id: newId('acc', createdAt),
  name: 'measured',
  plan: 'developer',
  createdAt,
};
const { key, record } = newKey(
  { accountId: account.id, name: 'measured', scope: 'full', expiresAt: null },
  createdAt,
);
await store.accounts.create(account, record);

/** Lets everybody in as that account. The inbox of the path is found as the guard finds it. */
function openGate(real: Gate, inboxes: Store['inboxes'], keyRecord: KeyRecord): Gate {
  const found = new Map<string, { inbox: InboxRecord; generation: number | null }>();
  const caller = { account, key: { key: keyRecord, account, keyHash: hashCredential(key) } };
  return {
    ...real,
    guard: {
      async check({ inboxId }) {
        if (inboxId === undefined) return { ...caller, inbox: null };
        const known = found.get(inboxId);
        if (known && known.generation === store.generation()) return { ...caller, inbox: known.inbox };
        const inbox = await inboxes.find(account.id, inboxId, clock.now());
        if (inbox) found.set(inboxId, { inbox, generation: store.generation() });
        return { ...caller, inbox: inbox ?? null };
      },
      findInbox: inboxes.find,
      forget: () => found.clear(),
    },
  };
}

const real = createGate(deps);
const gates: Partial<Record<string, Gate>> = {
  with: real,
  silent: {
    ...real,
    admission: {
      admit: (...given) => real.admission.admit(...given),
      settle: (...given) => real.admission.settle(...given),
      headers: () => ({}),
    },
  },
  without: openGate(real, store.inboxes, record),
};
const { app } = await buildApp(parseConfig({ MAYFLY_CONSOLE: 'off' }), deps, gates[mode]);
await app.listen({ host: '127.0.0.1', port: 0 });
process.once('SIGTERM', async () => {
  await app.close();
  await usage.stop();
  await store.close();
  process.exit();
});
const { port } = app.server.address() as AddressInfo;
process.stdout.write(`ready on ${port} with ${key}\n`);
