import { afterEach, describe, expect, test } from 'vitest';
import { MailQueue } from './mail-queue.ts';
import { POSTGRES, type Site, startSite } from './nodes.ts';
import { assertTruth } from './truth.ts';

const MAILS = 40;

/** A check that was never seen to fail is half a check: what the tests of kills ask must find this defect. */
describe.skipIf(!POSTGRES)('a mutant: a database that acknowledges commits before they are on disk', () => {
  let site: Site;
  afterEach(() => site.close());

  /** Sends mail, crashes the database, and asks whether everything acknowledged is there. */
  async function crashAfterMails(commit: 'on' | 'off'): Promise<void> {
    site = await startSite();
    const node = await site.startNode();
    const inbox = await node.createInbox();
    // The check at the start of a node has passed before.
    await site.query(`alter system set synchronous_commit = '${commit}'`);
    await site.query('select pg_reload_conf()');
    await expect.poll(() => site.query('show synchronous_commit')).toBe(commit);
    // It writes what it can at each commit, and what is written survives the crash of a process.
    const writer = await site.query("select pid from pg_stat_activity where backend_type = 'walwriter'");
    process.kill(Number(writer), 'SIGSTOP');
    let made = 0;
    const next = () => (made < MAILS ? { id: `mutant-${commit}-${++made}`, to: [inbox.address] } : undefined);
    const queue = new MailQueue(() => [node.smtpPort], next, 4);
    await queue.untilAcknowledged(MAILS);
    await queue.drained();
    await site.postgres.stop('SIGQUIT');
    await site.postgres.start();
    await expect.poll(async () => (await node.request('GET', '/readyz')).status).toBe(200);
    await assertTruth(node, [inbox], queue);
  }

  test('is found out by the ledger of acknowledged mail', async () => {
    await expect(crashAfterMails('off')).rejects.toThrow(/acknowledged and not there/);
  });

  test('differs from a sound one by that setting alone', async () => {
    await crashAfterMails('on');
  });
});
