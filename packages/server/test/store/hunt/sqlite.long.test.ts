/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { expect, it, onTestFinished } from 'vitest';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { openTemporary } from '../sqlite/open-sqlite.ts';
import { hunt } from './hunt.ts';

const HUNT_MS = inForm(2_000, 30_000);
const random = chance();

it.each([1, 5_000])(
  `all calls at once on SQLite by two processes for ${HUNT_MS / 1_000} s (seed ${random.seed}, clock × %i): no call fails and nothing is wrong in the tables`,
  async (speed) => {
    const on = await openTemporary({ exclusive: false });
    onTestFinished(on.close);
    const nodes = [on.store, await on.openAnother()];
    const hunted = await hunt({ nodes, width: 5, ms: HUNT_MS, random, speed, select: on.sql });
    expect(hunted.failed, 'calls that failed').toEqual([]);
    expect(hunted.broken, 'invariants').toEqual([]);
  },
  timeLimit(300_000),
);
