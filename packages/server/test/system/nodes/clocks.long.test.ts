import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from 'vitest';
import { inForm } from '../../support/form.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { MailQueue } from './mail-queue.ts';
import { POSTGRES, useSite } from './nodes.ts';
import { allMessages, assertTruth, follow } from './truth.ts';

const AHEAD_MS = 5_000;
/** Tolerance for the query of the database's time on a busy machine, milliseconds. */
const ERROR_MS = 2_000;
const MAILS = inForm(60, 1_000);
const SHIFT_CLOCK = fileURLToPath(new URL('./clock-ahead.js', import.meta.url));
const MINUTE_MS = 60_000;

describe.skipIf(!POSTGRES)(`two nodes, one of whose clocks is ${AHEAD_MS} ms ahead`, () => {
  const site = useSite(1, { env: { MAYFLY_METRICS: 'on', MAYFLY_LOG_LEVEL: 'info' } });
  let right: ServerProcess;
  let ahead: ServerProcess;
  beforeAll(async () => {
    right = site().node(0);
    const env = { CLOCK_AHEAD_MS: String(AHEAD_MS) };
    ahead = await site().startNode({ env, nodeArgs: ['--import', SHIFT_CLOCK] });
  });

  test('warn of it in the log of the one, and show it in its metrics', async () => {
    const warning = /"level":"warn".*The clock of this machine is [3-7]\.\d s ahead of that of the database/;
    expect(ahead.greeting).toMatch(warning);
    expect(right.greeting).not.toContain('The clock of this machine');
    const shown = async (node: ServerProcess) => {
      const { body } = await node.api('GET', '/metrics');
      return Number(/^mayfly_clock_ahead_seconds (\S+)$/m.exec(body)?.[1]);
    };
    // Includes the duration of the query.
    expect(Math.abs((await shown(ahead)) - AHEAD_MS / 1_000)).toBeLessThan(ERROR_MS / 1_000);
    expect(Math.abs(await shown(right))).toBeLessThan(ERROR_MS / 1_000);
  });

  test('store mail to both in one order, and show each of them once to followers on both', async () => {
    const inbox = await right.createInbox();
    let made = 0;
    const next = () => (made < MAILS ? { id: `mail-${++made}`, to: [inbox.address] } : undefined);
    let over = false;
    const following = [0, 1].map((first) => follow(site(), inbox, first, () => over));
    const queue = new MailQueue(site(), next, 4);
    await queue.untilAcknowledged(MAILS);
    await queue.drained();
    over = true;
    await assertTruth(right, [inbox], queue);
    const truth = (await allMessages(right, inbox)).map(({ id }) => id);
    expect(truth).toHaveLength(MAILS);
    for (const seen of await Promise.all(following)) expect(seen).toEqual(truth);
  });

  test('end an inbox at its time, by the clock of either node, and for good', async () => {
    const { body: inbox } = await right.api('POST', '/v1/inboxes', { body: { ttlMinutes: 1 } });
    const path = `/v1/inboxes/${inbox.id}`;
    const left = Date.parse(inbox.expiresAt) - Date.now();
    expect(left).toBeGreaterThan(MINUTE_MS - 5_000);
    expect((await ahead.api('GET', path)).status).toBe(200);
    // An inbox that was expired on one node is expired on the other, whatever its clock.
    const other = await ahead.createInbox();
    expect((await ahead.api('POST', `/v1/inboxes/${other.id}/expire`)).status).toBe(204);
    await expect
      .poll(async () => (await right.api('GET', `/v1/inboxes/${other.id}`)).status, {
        timeout: AHEAD_MS + 5_000,
      })
      .toBe(410);
    const third = await right.createInbox();
    expect((await right.api('POST', `/v1/inboxes/${third.id}/expire`)).status).toBe(204);
    expect((await ahead.api('GET', `/v1/inboxes/${third.id}`)).status).toBe(410);
  });
});
