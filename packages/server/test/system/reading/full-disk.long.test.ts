import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sendOne } from '../../reading/promises/whole-mail.ts';
import { useFolderOfTest } from '../../support/folder.ts';
import { type ServerProcess, startServer } from '../../support/server-process.ts';
import { MAY_MOUNT, mountSmallDisk, unmount } from '../../support/small-disk.ts';
import { Ledger, Sender } from '../durability/ledger.ts';
import { assertNothingLost } from '../durability/readback.ts';

/** Room for the start of a database, its log and its reserve. */
const DISK_MIB = 30;
const CONNECTIONS = 20;

describe.skipIf(!MAY_MOUNT)('a disk that mail has filled (skipped where none may be mounted)', () => {
  const dataDir = useFolderOfTest();
  let server: ServerProcess;
  beforeEach(() => {
    mountSmallDisk(dataDir(), DISK_MIB);
  });
  afterEach(async () => {
    await server.end('SIGKILL');
    unmount(dataDir());
  });

  test('while new mail gets 451, all that was acknowledged is complete, at once and after a crash', async () => {
    server = await startServer({ dataDir: dataDir() });
    const [inbox, other] = [await server.createInbox(), await server.createInbox()];
    const large = `Subject: large\r\n\r\n${'text\r\n'.repeat(150_000)}`;
    let replies = 0;
    while ((await sendOne(server.smtpPort, other.address, large)).startsWith('250')) replies++;
    expect(replies).toBeGreaterThan(3);

    const ledger = new Ledger();
    let made = 0;
    const next = () => (ledger.refused.size > 0 ? undefined : { id: `mail-${++made}`, to: [inbox.address] });
    const senders = Array.from({ length: CONNECTIONS }, () => new Sender(server.smtpPort, ledger, next));
    await Promise.all(senders.map(({ ended }) => ended));
    for (const reply of ledger.refused.values()) expect(reply).toMatch(/^451 4\.3\.0 /);
    const isComplete = async (): Promise<void> => {
      await assertNothingLost(server, [inbox], ledger);
      const path = `/v1/inboxes/${other.id}/messages?limit=200`;
      const { messages } = await server.getJson<{ messages: object[] }>(path);
      expect(messages).toMatchObject(
        Array.from({ length: replies }, () => ({
          subject: 'large',
          preview: expect.stringContaining('text'),
        })),
      );
    };
    await isComplete();

    await server.end('SIGKILL');
    server = await startServer({ dataDir: dataDir() });
    await isComplete();
    // Readings took less than the room that was kept for them.
    let reply = '250';
    for (let n = 0; n < 20 && reply.startsWith('250'); n++)
      reply = await sendOne(server.smtpPort, other.address, large);
    expect(reply).toMatch(/^451 4\.3\.0 /);
  });
});
