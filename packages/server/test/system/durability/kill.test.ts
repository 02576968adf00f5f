/*
 * TEST_SEED=… repeats the choices of a run (which mails, after how many the kill comes), but not its timing.
 */
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, describe, expect, test } from 'vitest';
import { chance } from '../../support/chance.ts';
import { useFolder } from '../../support/folder.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { type Inbox, type ServerProcess, spawnServer, startServer } from '../../support/server-process.ts';
import { Ledger, type LedgerMail, Sender } from './ledger.ts';
import { assertNothingLost, Follower } from './readback.ts';

const KILLS = inForm(2, 20);
const MAILS = inForm(200, 2_000);
const CONNECTIONS = 20;
const INBOXES = 3;
/** Every so many restarts the server is killed while it starts, too. */
const KILL_WHILE_STARTING = 3;

const random = chance();
const dataDir = useFolder();
const servers: ServerProcess[] = [];

afterAll(async () => {
  for (const server of servers) await server.end('SIGKILL');
});

async function start(): Promise<ServerProcess> {
  const server = await startServer({ dataDir: dataDir() });
  servers.push(server);
  return server;
}

/** A kill at any moment of the start, recovery of the log included. */
async function startAndKill(): Promise<void> {
  const child = spawnServer({ dataDir: dataDir() });
  const exited = once(child, 'exit');
  await pause(random.between(50, 600));
  child.kill('SIGKILL');
  await exited;
}

/** What SQLite says of the files as the kill left them: of a copy, since looking at them repairs them. */
function integrityOfCopy(): unknown {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-copy-'));
  try {
    for (const name of ['mayfly.db', 'mayfly.db-wal']) {
      if (existsSync(join(dataDir(), name))) copyFileSync(join(dataDir(), name), join(folder, name));
    }
    const database = new DatabaseSync(join(folder, 'mayfly.db'));
    const answer = database.prepare('pragma integrity_check').get()?.integrity_check;
    database.close();
    return answer;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

let lastMail = 0;
function mailTo(inboxes: Inbox[]): LedgerMail {
  lastMail += 1;
  const first = random.between(0, INBOXES - 1);
  const addresses = inboxes.map(({ address }) => address);
  // One in five goes to all inboxes: it must be in all of them or in none.
  const to = random.between(1, 5) === 1 ? addresses : addresses.slice(first, first + 1);
  return { id: `mail-${random.seed}-${lastMail}`, to };
}

describe(`${KILLS} kills under load (seed ${random.seed})`, () => {
  test(
    `lose and alter none of ${MAILS} acknowledged mails and show no partial mail`,
    async ({ annotate }) => {
      const ledger = new Ledger();
      let server = await start();
      const inboxes = await Promise.all(Array.from({ length: INBOXES }, () => server.createInbox()));
      const followers = inboxes.map((inbox) => new Follower(inbox));
      let inFlight = 0;

      for (let kill = 1; kill <= KILLS; kill++) {
        const share = (MAILS - ledger.acknowledged.size) / (KILLS - kill + 1);
        const enough =
          kill === KILLS ? MAILS : ledger.acknowledged.size + Math.ceil((share * random.between(5, 15)) / 10);
        const senders = Array.from(
          { length: CONNECTIONS },
          () => new Sender(server.smtpPort, ledger, () => mailTo(inboxes)),
        );
        const following = followers.map((follower) => follower.follow(server));
        await ledger.untilAcknowledged(enough);
        // Not at the moment of an answer, but at any.
        await pause(random.between(0, 30));
        await server.end('SIGKILL');
        await Promise.all([...senders.map(({ ended }) => ended), ...following]);
        expect(ledger.refused).toEqual(new Map());
        expect(ledger.unanswered.size - inFlight).toBeLessThanOrEqual(CONNECTIONS);
        inFlight = ledger.unanswered.size;
        expect(integrityOfCopy()).toBe('ok');
        if (kill % KILL_WHILE_STARTING === 0) await startAndKill();
        server = await start();
      }

      const { acknowledged, extra } = await assertNothingLost(server, inboxes, ledger);
      expect(acknowledged).toBeGreaterThanOrEqual(MAILS);
      for (const [index, follower] of followers.entries()) {
        await follower.step(server, 0);
        const fresh = new Follower(inboxes[index] as Inbox);
        await fresh.step(server, 0);
        // Exact polling, across all the restarts.
        expect(follower.seen).toEqual(fresh.seen);
      }
      await server.end('SIGTERM');
      expect(integrityOfCopy()).toBe('ok');
      await annotate(
        `${KILLS} kills: ${acknowledged} acknowledged, 0 lost, 0 altered; ${inFlight} were in flight, ${extra} of them are there`,
      );
    },
    timeLimit(600_000),
  );
});
