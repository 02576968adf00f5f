import { setTimeout as sleep } from 'node:timers/promises';
import { largeMail, realisticMail } from './support/mails.ts';
import { assertAllThere, withMayfly } from './support/mayfly.ts';
import { alone, type Row } from './support/rows.ts';
import { onTheWire, SmtpClient } from './support/smtp-client.ts';

const WARM_UP_MAILS = 10;
const SETTLE_MS = 5000;
const SENDERS = 200;
const LARGE_BYTES = 10 * 1024 * 1024;
/** Two gigabytes to parse and to write, on a slow day. */
const LIMIT_MS = 300_000;
const LARGE = `peak memory with ${SENDERS} senders of 10 MB mails at once`;

/** Resident memory of the whole process: idle after little work, and at its highest under large mails. */
export async function memory(): Promise<Row[]> {
  return [
    alone('resident memory, idle', 'MiB', [await idleMemory()], { atMost: 120 }),
    alone(LARGE, 'MiB', [await peakMemory()], { atMost: 400 }),
  ];
}

async function idleMemory(): Promise<number> {
  const mail = onTheWire(await realisticMail());
  return withMayfly({}, async (mayfly) => {
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

/** All send at the same time; smtp-source would send them one after the other. */
function peakMemory(): Promise<number> {
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
    return mayfly.memory().peak;
  });
}
