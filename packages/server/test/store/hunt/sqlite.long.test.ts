/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { openTemporary } from '../sqlite/open-sqlite.ts';
import { hunt } from './hunt.ts';

const HUNT_MS = inForm(2_000, 30_000);
const random = chance();

it.each([1, 5_000])(
  `all calls at once on SQLite by two processes for ${HUNT_MS / 1_000} s (seed ${random.seed}, clock × %i): no call fails and nothing is wrong in the tables`,
  async (speed) => {
    const opened = await openTemporary({ exclusive: false });
    const rows = new DatabaseSync(opened.path, { timeout: 5_000 });
    try {
      const nodes = [opened.store, await opened.openAnother()];
      const select = async (sql: string) => rows.prepare(sql).all();
      const hunted = await hunt({ nodes, width: 5, ms: HUNT_MS, random, speed, select });
      expect(hunted.failed, 'calls that failed').toEqual([]);
      expect(hunted.broken, 'invariants').toEqual([]);
    } finally {
      rows.close();
      await opened.close();
    }
  },
  timeLimit(300_000),
);
