/*
 * TEST_SEED=… repeats the choices of a run (which mails, after how many the kill comes), but not its timing.
 */
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { chance } from '../../support/chance.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { spawnServer } from '../../support/server-process.ts';
import { MailQueue, mailsTo, NO_REPLY } from '../nodes/mail-queue.ts';
import { useSite } from '../nodes/nodes.ts';
import { allMessages, assertTruth, follow } from '../nodes/truth.ts';

const KILLS = inForm(2, 20);
const MAILS = inForm(100, 2_000);
const CONNECTIONS = 20;
/** Every third restart is killed as well. */
const KILL_WHILE_STARTING = 3;

const random = chance();

describe(`${KILLS} kills under load (seed ${random.seed})`, () => {
  const site = useSite(1, { engine: 'SQLite' });

  /** Kills a server while it starts, possibly during the recovery of the write-ahead log. */
  async function startAndKill(): Promise<void> {
    const child = spawnServer({ dataDir: site().dataDir() });
    const exited = once(child, 'exit');
    await pause(random.between(50, 600));
    child.kill('SIGKILL');
    await exited;
  }

  /** Checks a copy of the files as the kill left them, because opening a database repairs it. */
  function integrityOfCopy(): unknown {
    const folder = mkdtempSync(join(tmpdir(), 'mayfly-copy-'));
    try {
      for (const name of ['mayfly.db', 'mayfly.db-wal']) {
        const file = join(site().dataDir(), name);
        if (existsSync(file)) copyFileSync(file, join(folder, name));
      }
      const database = new DatabaseSync(join(folder, 'mayfly.db'));
      const answer = database.prepare('pragma integrity_check').get()?.integrity_check;
      database.close();
      return answer;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  test(
    `lose and alter none of ${MAILS} acknowledged mails and show no partial mail`,
    async ({ annotate }) => {
      const inboxes = await site().createInboxes(3);
      let isOver = false;
      const following = inboxes.map((inbox) => follow(site(), inbox, 0, () => isOver));
      const queue = new MailQueue(site(), mailsTo(inboxes, random), CONNECTIONS);
      for (let kill = 1; kill <= KILLS; kill++) {
        const share = (MAILS - queue.acknowledged.size) / (KILLS - kill + 1);
        await queue.untilMore(Math.ceil((share * random.between(5, 15)) / 10));
        // Not right after a reply, but at any time.
        await pause(random.between(0, 30));
        await site().node(0).end('SIGKILL');
        expect(integrityOfCopy()).toBe('ok');
        if (kill % KILL_WHILE_STARTING === 0) await startAndKill();
        await site().startNode({}, 0);
      }
      await queue.untilAcknowledged(MAILS);
      await queue.drained();
      // No mail was rejected.
      const { [NO_REPLY]: unanswered = 0, ...others } = Object.fromEntries(queue.replies);
      expect(Object.keys(others).filter((code) => !['closed', 'no connection'].includes(code))).toEqual([]);

      const { repeated } = await assertTruth(site().node(0), inboxes, queue);
      isOver = true;
      for (const [n, inbox] of inboxes.entries()) {
        // Exact polling across all restarts.
        expect(await following[n]).toEqual((await allMessages(site().node(0), inbox)).map(({ id }) => id));
      }
      await site().node(0).end('SIGTERM');
      expect(integrityOfCopy()).toBe('ok');
      await annotate(
        `${KILLS} kills: ${queue.acknowledged.size} acknowledged, 0 lost, 0 altered; ${unanswered} without a reply, ${repeated} copies of these are there`,
      );
    },
    timeLimit(600_000),
  );
});
