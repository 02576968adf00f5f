import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newId } from '../../src/ids.ts';
import { sweepUntil } from '../../src/retention/sweeper.ts';
import type { InboxRecord } from '../../src/store/contract/index.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { inboxAt, mailTo, onlyPlaced, T } from './builders.ts';
import type { Opened } from './contract/suite.ts';
import { openTemporaryHere } from './sqlite/open-sqlite.ts';

const HOUR = 3_600_000;

describe('the wall clock beside stored times', () => {
  let on: Opened;
  let inbox: InboxRecord;
  let clock: FakeClock;
  let logged: { level: number; behindSeconds?: number; msg: string }[];
  let stop: AbortController;
  let swept: Promise<void>;
  beforeEach(async () => {
    on = await openTemporaryHere();
    const accountId = newId('acc', T);
    await on.store.accounts.create({ id: accountId, name: 'a', plan: 'free', createdAt: T }, null);
    inbox = (await on.store.inboxes.create(accountId, inboxAt(), 10, null)).inbox;
    clock = new FakeClock(T);
    logged = [];
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await swept;
    await on.close();
  });

  const start = () => {
    const log = pino({}, { write: (line: string) => void logged.push(JSON.parse(line)) });
    swept = sweepUntil(stop.signal, { upkeep: on.store.upkeep, clock, log });
  };
  const warnings = () => logged.filter(({ level }) => level === 40);

  it('logs a warning at the start when the clock is behind the newest stored message', async () => {
    await onlyPlaced(on.store, mailTo([inbox]), T + 600_000);
    start();
    await expect
      .poll(warnings)
      .toMatchObject([{ behindSeconds: 600, msg: expect.stringContaining('ran back') }]);
  });

  it('logs one warning each time the clock runs back while the server runs', async () => {
    start();
    await clock.untilSleeping();
    await clock.advance(60_000);
    expect(warnings()).toEqual([]);
    for (let jump = 1; jump <= 2; jump++) {
      clock.step(-HOUR);
      await clock.advance(60_000);
      await expect.poll(warnings).toHaveLength(jump);
      clock.step(2 * HOUR);
      await clock.advance(60_000);
    }
    expect(warnings()).toHaveLength(2);
  });

  it('gives messages of an inbox increasing times all the same', async () => {
    const times: number[] = [];
    for (const now of [T + 5000, T + 1000, T - HOUR, T + 5001, T + 4000]) {
      times.push((await onlyPlaced(on.store, mailTo([inbox]), now)).receivedAt);
    }
    expect(times).toEqual([5000, 5001, 5002, 5003, 5004].map((ms) => T + ms));
    start();
  });
});
