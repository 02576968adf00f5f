import { describe, expect, test } from 'vitest';
import { MailQueue } from './mail-queue.ts';
import { POSTGRES, useSiteOfTest } from './nodes.ts';
import { assertTruth } from './truth.ts';

const MAILS = 40;

/** Shows that `assertTruth` fails when acknowledged mail is lost. */
describe.skipIf(!POSTGRES)('a mutant: a database that acknowledges commits before they are on disk', () => {
  const site = useSiteOfTest(1, { own: {} });

  /** Sends mail, crashes the database, and asserts that everything acknowledged is there. */
  async function crashAfterMails(commit: 'on' | 'off'): Promise<void> {
    const inboxes = await site().createInboxes(1);
    // The node has checked the setting at its start.
    await site().query(`alter system set synchronous_commit = '${commit}'`);
    await site().query('select pg_reload_conf()');
    await expect.poll(() => site().query('show synchronous_commit')).toBe(commit);
    // The WAL writer would sync commits a moment later.
    const writer = await site().query("select pid from pg_stat_activity where backend_type = 'walwriter'");
    process.kill(Number(writer), 'SIGSTOP');
    let made = 0;
    const to = inboxes.map(({ address }) => address);
    const next = () => (made < MAILS ? { id: `mutant-${commit}-${++made}`, to } : undefined);
    const queue = new MailQueue(site(), next, 4);
    await queue.untilAcknowledged(MAILS);
    await queue.drained();
    await site().postgres.stop('SIGQUIT');
    await site().postgres.start();
    const node = site().node(0);
    await expect.poll(async () => (await node.api('GET', '/readyz')).status).toBe(200);
    await assertTruth(node, inboxes, queue);
  }

  test('is detected by the comparison with what was acknowledged', async () => {
    await expect(crashAfterMails('off')).rejects.toThrow(/acknowledged and not there/);
  });

  test('differs from a sound one by that setting alone', async () => {
    await crashAfterMails('on');
  });
});
