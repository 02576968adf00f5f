import { setTimeout as sleep } from 'node:timers/promises';
import { untilIdle } from './support/child.ts';
import { largeMail, realisticMail } from './support/mails.ts';
import { assertAllThere, withMayfly } from './support/mayfly.ts';
import { alone, type Row } from './support/rows.ts';
import { onTheWire, SmtpClient } from './support/smtp-client.ts';

const WARM_UP_MAILS = 10;
const SETTLE_MS = 5000;
const BURST_SENDERS = 20;
/** Of each sender of the burst. */
const MAILS = 500;
const SENDERS = 200;
const LARGE_BYTES = 10 * 1024 * 1024;
/** Then the garbage of a load is collected, and what was kept for it is given back. */
const AFTERWARDS_MS = 60_000;
/** Two gigabytes to parse and to write, on a slow day. */
const LIMIT_MS = 300_000;
const LARGE = `peak memory with ${SENDERS} senders of 10 MB mails at once`;

/** Resident memory of the whole process: idle after little work, and at its highest under large mails. */
export async function memory(): Promise<Row[]> {
  // The first start leaves what the next ones find compiled.
  await withMayfly({}, async () => undefined);
  const idle = await idleMemory({});
  const uncached = await idleMemory({ NODE_DISABLE_COMPILE_CACHE: '1' });
  const many = await memoryAfterMany();
  const { peak, afterwards } = await loadedMemory();
  return [
    alone('resident memory, idle', 'MiB', [idle], { atMost: 115 }),
    alone('the same without the compile cache, as after the first start', 'MiB', [uncached]),
    alone(`resident memory after a burst of ${MAILS * BURST_SENDERS} mails`, 'MiB', [many.soon], {
      atMost: 160,
    }),
    alone('resident memory a minute after that burst', 'MiB', [many.later], { atMost: 160 }),
    alone(LARGE, 'MiB', [peak], { atMost: 400 }),
    alone('resident memory a minute after those', 'MiB', [afterwards]),
  ];
}

async function idleMemory(env: Record<string, string>): Promise<number> {
  const mail = onTheWire(await realisticMail());
  return withMayfly({ env }, async (mayfly) => {
    const inbox = await mayfly.createInbox();
    const client = await SmtpClient.open(mayfly.smtpPort);
    for (let i = 0; i < WARM_UP_MAILS; i++) {
      await client.send(inbox.address, mail);
      await mayfly.get(`/v1/inboxes/${inbox.id}/messages`);
    }
    client.close();
    await sleep(SETTLE_MS);
    return mayfly.memory().now;
  });
}

async function memoryAfterMany(): Promise<{ soon: number; later: number }> {
  const mail = onTheWire(await realisticMail());
  return withMayfly({}, async (mayfly) => {
    const inbox = await mayfly.createInbox();
    const send = async () => {
      const client = await SmtpClient.open(mayfly.smtpPort);
      for (let i = 0; i < MAILS; i++) await client.send(inbox.address, mail);
      client.close();
    };
    await Promise.all(Array.from({ length: BURST_SENDERS }, send));
    await untilIdle(mayfly);
    await assertAllThere(mayfly, inbox, MAILS * BURST_SENDERS);
    await sleep(SETTLE_MS);
    const soon = mayfly.memory().now;
    await sleep(AFTERWARDS_MS);
    return { soon, later: mayfly.memory().now };
  });
}

/** All send at the same time; smtp-source would send them one after the other. */
function loadedMemory(): Promise<{ peak: number; afterwards: number }> {
  const mail = onTheWire(largeMail(LARGE_BYTES));
  return withMayfly({}, async (mayfly) => {
    const inbox = await mayfly.createInbox();
    const clients = await Promise.all(
      Array.from({ length: SENDERS }, () => SmtpClient.open(mayfly.smtpPort)),
    );
    const late = setTimeout(() => {
      for (const client of clients) client.close();
    }, LIMIT_MS);
    try {
      await Promise.all(clients.map((client) => client.send(inbox.address, mail)));
    } finally {
      clearTimeout(late);
      for (const client of clients) client.close();
    }
    await assertAllThere(mayfly, inbox, SENDERS);
    const { peak } = mayfly.memory();
    await sleep(AFTERWARDS_MS);
    return { peak, afterwards: mayfly.memory().now };
  });
}
