import { setTimeout as sleep } from 'node:timers/promises';
import { realisticMail } from './support/mails.ts';
import { assertAllThere, withMayfly } from './support/mayfly.ts';
import { alone, type Row, skipped } from './support/rows.ts';
import { SmtpClient } from './support/smtp-client.ts';
import { NO_SMTP_SOURCE, sendStream, smtpSource } from './support/smtp-source.ts';

const WARM_UP_MAILS = 10;
const SETTLE_MS = 5000;
const SENDERS = 200;
const LARGE_BYTES = 10 * 1024 * 1024;
const LARGE = `peak memory with ${SENDERS} senders of 10 MB mails at once`;

/** Resident memory of the whole process: idle after little work, and at its highest under large mails. */
export async function memory(): Promise<Row[]> {
  const idle = alone('resident memory, idle', 'MiB', [await idleMemory()], { atMost: 120 });
  if (smtpSource === undefined) return [idle, skipped(LARGE, NO_SMTP_SOURCE)];
  return [idle, alone(LARGE, 'MiB', [await peakMemory()], { atMost: 400 })];
}

async function idleMemory(): Promise<number> {
  const mail = await realisticMail();
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

function peakMemory(): Promise<number> {
  return withMayfly({}, async (mayfly) => {
    const inbox = await mayfly.createInbox();
    await sendStream({
      port: mayfly.smtpPort,
      to: inbox.address,
      mails: SENDERS,
      connections: SENDERS,
      mail: { bytes: LARGE_BYTES },
    });
    await assertAllThere(mayfly, inbox, SENDERS);
    return mayfly.memory().peak;
  });
}
