/* TEST_SEED=… repeats the choices of a run, but not its timing. */
import { once } from 'node:events';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { beforeEach, describe, expect, test } from 'vitest';
import { chance } from '../../support/chance.ts';
import { useFolderOfTest } from '../../support/folder.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { sendTo } from '../../support/mail/smtp-mail.ts';
import { type Inbox, spawnServer } from '../../support/server-process.ts';
import { MailQueue, mailsTo, NO_REPLY } from './mail-queue.ts';
import { ENGINES, MANY_MESSAGES, useSite } from './nodes.ts';
import { allMessages, assertTruth, follow } from './truth.ts';

const KILLS = inForm(2, 50);
/** Every third restart on SQLite is killed as well. */
const KILL_WHILE_STARTING = 3;
const RESTARTS = inForm(1, 10);
const TERMINATIONS = inForm(40, 400);
const CONNECTIONS = inForm(3, 10);
const MAX_MAILS_BETWEEN = inForm(40, 120);
const LIMIT = { timeout: timeLimit(1_200_000) };

const random = chance();

describe.each(ENGINES)(`$count nodes on $engine (seed ${random.seed})`, LIMIT, ({ engine, count }) => {
  // Few connections, because a test opens all of them.
  const own = engine === 'SQLite' ? {} : { own: { settings: { max_connections: '50' } } };
  const site = useSite(count, { engine, ...own, env: MANY_MESSAGES });
  const folder = useFolderOfTest();
  let inboxes: Inbox[];
  let queue: MailQueue;
  let isOver: boolean;
  let following: Promise<string[]>[];
  beforeEach(async () => {
    inboxes = await site().createInboxes(3);
    isOver = false;
    following = inboxes.map((inbox) => follow(site(), inbox, 0, () => isOver));
    queue = new MailQueue(site(), mailsTo(inboxes, random), CONNECTIONS);
  });

  const someMails = () => queue.untilMore(random.between(20, MAX_MAILS_BETWEEN));

  /** Asserts that no mail is lost, that followers have seen all of it, and that no node has ended. @returns figures */
  async function expectTruth(): Promise<string> {
    await queue.drained();
    await pause(1_500);
    isOver = true;
    const seen = await Promise.all(following);
    const { stored, repeated } = await assertTruth(site().node(0), inboxes, queue);
    for (const [n, inbox] of inboxes.entries()) {
      expect(seen[n]).toEqual((await allMessages(site().node(1), inbox)).map(({ id }) => id));
    }
    for (const one of site().nodes) expect(one.process).toMatchObject({ exitCode: null, signalCode: null });
    return `${queue.acknowledged.size} acknowledged, ${stored} stored, ${repeated} of them repeated; other replies: ${JSON.stringify([...queue.replies])}`;
  }

  /** Kills a server while it starts, possibly during the recovery of the write-ahead log. */
  async function startAndKill(): Promise<void> {
    const child = spawnServer({ dataDir: site().dataDir() });
    await pause(random.between(50, 600));
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Checks a copy of the files as the kill left them, because opening a database repairs it. */
  function integrityOfCopy(name: string): unknown {
    const copy = join(folder(), name);
    cpSync(site().dataDir(), copy, { recursive: true, filter: (path) => !path.endsWith('-shm') });
    const database = new DatabaseSync(join(copy, 'mayfly.db'));
    const answer = database.prepare('pragma integrity_check').get()?.integrity_check;
    database.close();
    return answer;
  }

  const rejection = () => sendTo(site().node(0).smtpPort, inboxes[0]?.address ?? '');

  test(`lose and alter nothing that was acknowledged in ${KILLS} kills; what was rejected arrives by its sender's retry`, async (context) => {
    for (let kill = 0; kill < KILLS; kill++) {
      await someMails();
      await pause(random.between(0, 30));
      const place = random.between(0, count - 1);
      await site().node(place).end('SIGKILL');
      if (engine === 'SQLite') {
        expect(integrityOfCopy(String(kill))).toBe('ok');
        if (kill % KILL_WHILE_STARTING === 1) await startAndKill();
      }
      // Only the other node runs for a while.
      else if (random.between(1, 2) === 1) await someMails();
      await site().startNode({}, place);
    }
    await someMails();
    await context.annotate(`${KILLS} kills: ${await expectTruth()}`);
    if (engine !== 'SQLite') return;
    for (const code of queue.replies.keys()) expect([NO_REPLY, 'closed', 'no connection']).toContain(code);
    await site().node(0).end('SIGTERM');
    expect(integrityOfCopy('stopped')).toBe('ok');
    await site().startNode({}, 0);
  });

  test(`answer 451 and 503 while the database crashes or is locked ${RESTARTS} times, lose nothing, and accept mail again soon after`, async (context) => {
    const times: number[] = [];
    for (let restart = 0; restart < RESTARTS; restart++) {
      await someMails();
      await pause(random.between(0, 30));
      const goOn = await site().loseDatabase(random.between(1, 3) === 1 ? 'SIGINT' : 'SIGQUIT');
      const [mail, api, list, ready] = await Promise.all([
        rejection(),
        site().node(0).api('POST', '/v1/inboxes'),
        site().node(0).api('GET', '/v1/inboxes'),
        site().node(1).api('GET', '/readyz'),
      ]);
      expect(mail).toMatch(/^451 4\.3\.0 /);
      expect([api.status, Number(api.headers.get('retry-after')) > 0]).toEqual([503, true]);
      expect(api.body).toMatchObject({ code: 'unavailable' });
      // A lock of SQLite does not stop reads.
      expect([list.status, ready.status]).toEqual([engine === 'SQLite' ? 200 : 503, 503]);
      expect((await site().node(0).api('GET', '/healthz')).status).toBe(200);
      await goOn();
      const returned = performance.now();
      await queue.untilMore(1);
      times.push(Math.round(performance.now() - returned));
      await expect.poll(async () => (await site().node(1).api('GET', '/readyz')).status).toBe(200);
    }
    await someMails();
    const figures = await expectTruth();
    if (engine === 'SQLite') expect(figures).toContain(' 0 of them repeated');
    await context.annotate(
      `${RESTARTS} restarts, mail accepted again after ${times.join(', ')} ms: ${figures}`,
    );
  });

  if (engine === 'SQLite') return;

  test(`lose and alter nothing while their connections to the database are ended ${TERMINATIONS} times, at any moment`, async (context) => {
    await someMails();
    const admin = new Client(site().url);
    await admin.connect();
    let ended = 0;
    while (ended < TERMINATIONS) {
      // Mostly connections in use, so that each step of a transaction is interrupted.
      const { rowCount } = await admin.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'mayfly'
             and (state <> 'idle' or random() < 0.05) order by random() limit 1`,
      );
      ended += rowCount ?? 0;
      await pause(random.between(0, 40));
    }
    await admin.end();
    await someMails();
    await context.annotate(`${ended} connections ended: ${await expectTruth()}`);
  });

  test('answer 451 and 503 while others have taken all connections of the database, and go on when they are free', async () => {
    await someMails();
    const admin = new Client(site().url);
    await admin.connect();
    const taken: Client[] = [];
    /** Opens connections until there are too many (53300); a busy machine has other failures as well. */
    const takeAll = async (): Promise<void> => {
      for (let code = ''; code !== '53300'; ) {
        const client = new Client(site().url);
        client.on('error', () => undefined);
        code = await client.connect().then(
          () => String(taken.push(client)),
          (error) => error.code,
        );
      }
    };
    const ofNodes = "from pg_stat_activity where application_name = 'mayfly'";
    // Repeated, because a terminated connection becomes free a moment later.
    for (let changes = 1; changes > 0; ) {
      const before = taken.length;
      const { rowCount: ended } = await admin.query(`select pg_terminate_backend(pid) ${ofNodes}`);
      await takeAll();
      const { rows } = await admin.query(`select count(*)::int as n ${ofNodes}`);
      changes = (ended ?? 0) + taken.length - before + rows[0].n;
    }
    expect(await rejection()).toMatch(/^451 4\.3\.0 /);
    expect((await site().node(1).api('POST', '/v1/inboxes')).status).toBe(503);
    for (const client of taken) await client.end();
    await admin.end();
    await someMails();
    await expectTruth();
  });
});
