import { beforeEach, expect, it } from 'vitest';
import type { Body } from '../support/api-client.ts';
import { useFolderOfTest } from '../support/folder.ts';
import { describeOnEngines } from '../support/nodes.ts';
import { ofTest } from '../support/started.ts';
import { useReceiver } from './receivers.ts';
import { startWebhookApp, type WebhookApp } from './start-webhooks.ts';

const HOUR = 60 * 60_000;
const STEP_MS = 50;
const PATIENCE_MS = 20_000;

/**
 * Lets time pass until it is so, in short steps, in each of which the store and the receiver get a turn.
 * @throws Error if it takes more than {@link PATIENCE_MS} of the clock, far less than it is stepped by, and twice as
 * much real time, by which PostgreSQL schedules
 */
async function whileTimePasses(apps: readonly WebhookApp[], isSo: () => Promise<boolean>): Promise<void> {
  const began = performance.now();
  for (let passed = 0; !(await isSo()); passed += STEP_MS) {
    if (passed > PATIENCE_MS && performance.now() - began > 2 * PATIENCE_MS)
      throw new Error(`It is not so after ${PATIENCE_MS} ms.`);
    for (const { clock, api } of apps) {
      await clock.advance(STEP_MS);
      await api('GET', '/healthz');
    }
  }
}

describeOnEngines('webhooks while the wall clock is stepped', (engine) => {
  let env: Record<string, string>;
  const folder = useFolderOfTest();
  /** The status of the next responses; 200 when there are no more. */
  let statuses: number[];
  const receiver = useReceiver((response) => response.writeHead(statuses.shift() ?? 200).end());
  beforeEach(async () => {
    env = await engine.env();
    statuses = [];
  });

  const start = () => ofTest(startWebhookApp(env, {}, folder()));
  const logOf = async (app: WebhookApp, id: string): Promise<Body[]> =>
    (await app.api('GET', `/v1/webhooks/${id}/deliveries`)).body.deliveries;
  const inboxOf = (app: WebhookApp) => app.createInbox({ ttlMinutes: 600 });
  const subjects = () =>
    receiver.requests.map(({ body }) => JSON.parse(body.toString()).data.message.subject);
  const received = (app: WebhookApp, subject: string) =>
    whileTimePasses([app], async () => subjects().includes(subject));

  it('attempt each message at once after an hour ahead and back', async () => {
    const app = await start();
    const inbox = await inboxOf(app);
    await app.register(receiver.port);
    for (const [index, step] of [0, HOUR, -HOUR, -HOUR, HOUR].entries()) {
      app.clock.step(step);
      statuses = [500];
      await app.mail(inbox.address, `${index} one`);
      await app.mail(inbox.address, `${index} two`);
      // One of them fails, and the other does not wait for its retry.
      for (const subject of ['one', 'two']) await received(app, `${index} ${subject}`);
    }
  });

  // On PostgreSQL it is the database's clock that counts.
  if (engine.nodes === 1)
    it('show the time of the next attempt by the clock as it is now', async () => {
      const app = await start();
      const inbox = await inboxOf(app);
      const webhook = await app.register(receiver.port);
      statuses = [500];
      await app.mail(inbox.address, 'fails');
      const isAttempted = ([one]: Body[]) => one?.attempts.length === 1;
      const [{ nextAttemptAt }] = await app.untilDeliveries(webhook.id, isAttempted);
      for (const step of [HOUR, -2 * HOUR]) {
        app.clock.step(step);
        const [delivery] = await logOf(app, webhook.id);
        const untilThen = Date.parse(delivery?.nextAttemptAt) - app.clock.now();
        expect(untilThen).toBeGreaterThan(3_000);
        expect(untilThen).toBeLessThanOrEqual(6_000);
      }
      expect(Date.parse(nextAttemptAt)).toBeGreaterThan(app.clock.now());
    });

  it('go on after a restart by which the clock was set back', async () => {
    const first = await start();
    const inbox = await inboxOf(first);
    const webhook = await first.register(receiver.port);
    first.clock.step(HOUR);
    statuses = [500, 500, 500];
    for (const subject of ['one', 'two', 'three']) await first.mail(inbox.address, subject);
    const isAttempted = ({ attempts }: Body) => attempts.length === 1;
    await whileTimePasses([first], async () => (await logOf(first, webhook.id)).every(isAttempted));
    await first.stop();
    // Its clock begins an hour earlier than the last one ended.
    const second = await start();
    await second.mail(inbox.address, 'after the restart');
    await received(second, 'after the restart');
    const isDelivered = ({ state }: Body) => state === 'delivered';
    await whileTimePasses([second], async () => (await logOf(second, webhook.id)).every(isDelivered));
  });
});
