/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'undici';
import { afterEach, describe, expect, test } from 'vitest';
import { chance } from '../../support/chance.ts';
import { useFolderOfTest } from '../../support/folder.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { type ServerProcess, startServer } from '../../support/server-process.ts';

const QUOTA = 1_000;
/** A hundredth of it is leased at a time; the next block is leased before the last is used up. */
const BLOCK = QUOTA / 100;
const CLIENTS = inForm(60, 200);
const KILLS = inForm(2, 20);
/** The plan of the first account; the other plans' rates would be in the way here. */
const PLANS = JSON.stringify({ unlimited: { requestsPerMonth: QUOTA } });

interface Usage {
  used: number;
  remaining: number;
  days: { requests: number }[];
}

const random = chance();
const dataDir = useFolderOfTest();
let server: ServerProcess | undefined;

afterEach(() => server?.end('SIGKILL'));

async function start(): Promise<ServerProcess> {
  server = await startServer({ dataDir: dataDir(), env: { MAYFLY_PLANS: PLANS } });
  return server;
}

/** What became of all requests so far. */
class Tally {
  answered = 0;
  refused = 0;
  /** Sent, and the server died before its answer. */
  unanswered = 0;
  readonly others: string[] = [];
  #watchers: { from: number; tell: () => void }[] = [];

  note(status: number, body: string): void {
    if (status === 200) this.answered++;
    else if (status === 429 && body.includes('quota_exceeded')) this.refused++;
    else this.others.push(`${status} ${body}`);
    for (const { from, tell } of this.#watchers) if (this.answered >= from) tell();
  }

  untilAnswered(from: number): Promise<void> {
    return new Promise((tell) => {
      this.#watchers.push({ from, tell });
      if (this.answered >= from) tell();
    });
  }
}

/** Clients, each on a connection of its own, ask again and again until they are refused or cut off. */
async function askInParallel({ url, key }: ServerProcess, tally: Tally): Promise<void> {
  const one = async (): Promise<void> => {
    const client = new Client(url);
    try {
      for (let refused = false; !refused; ) {
        const before = tally.refused;
        const { statusCode, body } = await client.request({
          method: 'GET',
          path: '/v1/inboxes?limit=1',
          headers: { authorization: `Bearer ${key}` },
        });
        tally.note(statusCode, await body.text());
        refused = tally.refused > before;
      }
    } catch {
      tally.unanswered++;
    } finally {
      await client.destroy();
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, one));
}

describe(`a month of ${QUOTA} requests and ${CLIENTS} clients at once (seed ${random.seed})`, () => {
  test(
    `is never exceeded in spite of ${KILLS} kills, and each kill loses almost nothing of it`,
    async ({ annotate }) => {
      const tally = new Tally();
      for (let kill = 1; kill <= KILLS; kill++) {
        const asking = askInParallel(await start(), tally);
        const enough = Math.floor((QUOTA * 0.8 * kill) / KILLS) - random.between(0, 50);
        // Many kills may have cost so much that the month ends before.
        await Promise.race([tally.untilAnswered(enough), asking]);
        await pause(random.between(0, 10));
        await server?.end('SIGKILL');
        await asking;
      }
      const last = await start();
      await askInParallel(last, tally);
      expect(tally.others).toEqual([]);
      expect(tally.refused).toBeGreaterThanOrEqual(CLIENTS);
      expect(tally.answered).toBeLessThanOrEqual(QUOTA);
      const lost = QUOTA - tally.answered;
      // A block, the one leased ahead, and one whose answers were on their way.
      expect(lost).toBeLessThanOrEqual(KILLS * 3 * BLOCK);
      expect(await last.getJson<Usage>('/v1/usage')).toMatchObject({ used: QUOTA, remaining: 0 });
      await annotate(
        `${KILLS} kills: ${tally.answered} answered, ${lost} lost, ${tally.unanswered} unanswered at the kills`,
      );
    },
    timeLimit(600_000),
  );

  test('can be used exactly in full across a clean stop under load', async ({ annotate }) => {
    const tally = new Tally();
    const asking = askInParallel(await start(), tally);
    await tally.untilAnswered(QUOTA / 2);
    expect(await server?.end('SIGTERM')).toMatchObject({ code: 0 });
    await asking;
    const last = await start();
    const before = tally.answered;
    expect((await last.getJson<Usage>('/v1/usage')).used).toBe(before);
    await askInParallel(last, tally);
    expect(tally.others).toEqual([]);
    expect(tally.answered).toBe(QUOTA);
    const { used, days } = await last.getJson<Usage>('/v1/usage');
    expect([used, days.reduce((sum, { requests }) => sum + requests, 0)]).toEqual([QUOTA, QUOTA]);
    await annotate(`a stop under load after ${before}, ${QUOTA} in all`);
  });
});
