import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { useFolderOfTest } from '../../support/folder.ts';
import { sendTo } from '../../support/mail/smtp-mail.ts';
import { type Inbox, type ServerProcess, startServer } from '../../support/server-process.ts';
import { MAY_MOUNT, mountSmallDisk, unmount } from '../../support/small-disk.ts';
import { type MailQueue, sendOnce } from '../nodes/mail-queue.ts';
import { allMessages, assertTruth } from '../nodes/truth.ts';

const DISK_MIB = 40;
/** More than the disk has space for. */
const TOO_MANY = 2000;

/** The largest labels, because free pages of deleted mail take many small rows. */
const LARGE_LABELS = Object.fromEntries(
  Array.from({ length: 16 }, (_, n) => [`label-${n}`, '€'.repeat(256)]),
);

describe.skipIf(!MAY_MOUNT)('a disk that mail has filled (skipped where none may be mounted)', () => {
  const dataDir = useFolderOfTest();
  let server: ServerProcess;
  /** The number of small mails. */
  let last = 0;
  /** The small mails that were acknowledged. */
  let sent: Pick<MailQueue, 'acknowledged' | 'permanent'>;
  beforeEach(async () => {
    mountSmallDisk(dataDir(), DISK_MIB);
    sent = { acknowledged: new Map(), permanent: [] };
    server = await startServer({ dataDir: dataDir() });
  });
  afterEach(async () => {
    await server.end('SIGKILL');
    unmount(dataDir());
  });

  const crash = async (): Promise<void> => {
    await server.end('SIGKILL');
    server = await startServer({ dataDir: dataDir() });
  };
  const statusOf = async (method: string, path: string, body?: object) =>
    (await server.api(method, path, { body })).status;

  /** Sends a mail of a megabyte. @returns the code of the reply */
  const sendLarge = async ({ address }: Inbox): Promise<number> => {
    const mail = `Subject: large\r\n\r\ntext${`${'x'.repeat(74)}\r\n`.repeat(14_000)}`;
    return Number((await sendTo(server.smtpPort, address, mail)).slice(0, 3));
  };

  /** Sends small mails, one after the other, until one is rejected. */
  async function sendUntilFull({ address }: Inbox): Promise<void> {
    for (let made = 0; made < TOO_MANY; made++) {
      const mail = { id: `small-${++last}`, to: [address] };
      const reply = await sendOnce(server.smtpPort, mail);
      if (!reply.startsWith('250')) return expect(reply).toMatch(/^451 4\.3\.0 /);
      sent.acknowledged.set(mail.id, { mail, unknown: 0 });
    }
    throw new Error('The disk is never full.');
  }

  /** Sends large mails and then small ones until each is rejected. @returns the number of large ones */
  async function fillWithMail(inboxes: Inbox[], kept: Inbox): Promise<number> {
    let large = 0;
    for (let code = 250; code === 250 && large < TOO_MANY; large++) {
      code = await sendLarge(inboxes[large % inboxes.length] as Inbox);
      if (code !== 250) expect(code).toBe(451);
      await untilParsed(inboxes);
    }
    expect(large).toBeLessThan(TOO_MANY);
    await sendUntilFull(kept);
    return large - 1;
  }

  /** Waits until all mail is parsed; until then, space is reserved for the results. */
  async function untilParsed(inboxes: Inbox[]): Promise<void> {
    for (const { id } of inboxes)
      expect(await statusOf('GET', `/v1/inboxes/${id}/messages?limit=200`)).toBe(200);
  }

  /** Creates inboxes until the disk is full. */
  async function fillWithInboxes(): Promise<void> {
    let made = 0;
    for (let status = 201; status === 201; made++) {
      expect(made).toBeLessThan(TOO_MANY);
      status = await statusOf('POST', '/v1/inboxes', { labels: LARGE_LABELS });
      if (status !== 201) expect(status).toBe(503);
    }
    expect([await statusOf('GET', '/readyz'), await statusOf('GET', '/healthz')]).toEqual([503, 200]);
  }

  test('has free space again after messages are deleted, also after a restart, and loses no acknowledged mail', async () => {
    const kept = await server.createInbox();
    const inboxes = [await server.createInbox(), await server.createInbox(), await server.createInbox()];
    const had = await fillWithMail(inboxes, kept);
    expect(had).toBeGreaterThan(10);
    await untilParsed([...inboxes, kept]);
    await fillWithInboxes();

    await crash();
    await untilParsed([...inboxes, kept]);
    await fillWithInboxes();

    for (const { id } of inboxes)
      for (const status of [204, 404]) expect(await statusOf('DELETE', `/v1/inboxes/${id}`)).toBe(status);
    // The sweeper frees the space a few seconds later.
    await expect.poll(() => statusOf('POST', '/v1/inboxes')).toBe(201);
    await expect.poll(() => statusOf('GET', '/readyz')).toBe(200);
    const inbox = await server.createInbox();
    for (let n = 0; n < had - 2; n++) {
      expect(await sendLarge(inbox)).toBe(250);
      await untilParsed([inbox]);
    }
    await assertTruth(server, [kept], sent);
  });

  test('while new mail gets 451, all that was acknowledged is complete, at once and after a crash', async () => {
    const [inbox, other] = [await server.createInbox(), await server.createInbox()];
    let replies = 0;
    while ((await sendLarge(other)) === 250) replies++;
    expect(replies).toBeGreaterThan(3);

    await Promise.all(Array.from({ length: 20 }, () => sendUntilFull(inbox)));
    const isComplete = async (): Promise<void> => {
      await assertTruth(server, [inbox], sent);
      const large = { subject: 'large', preview: expect.stringContaining('text') };
      expect(await allMessages(server, other)).toMatchObject(Array(replies).fill(large));
    };
    await isComplete();

    await crash();
    await isComplete();
    // The results of parsing take less space than was reserved.
    let code = 250;
    for (let n = 0; n < 20 && code === 250; n++) code = await sendLarge(other);
    expect(code).toBe(451);
  });
});
