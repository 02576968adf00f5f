import { setTimeout as sleep } from 'node:timers/promises';
import type { Inbox, Mayfly } from './mayfly.ts';
import { SmtpClient } from './smtp-client.ts';

/** Below what an inbox holds. */
const MAX_MAILS_EACH = 9_000;

/** Senders on connections of their own, each with an inbox of its own. */
export interface Senders {
  clients: SmtpClient[];
  inboxes: Inbox[];
  close(): void;
}

export async function openSenders(mayfly: Mayfly, count: number): Promise<Senders> {
  const clients: SmtpClient[] = [];
  const inboxes: Inbox[] = [];
  for (let i = 0; i < count; i++) {
    inboxes.push(await mayfly.createInbox());
    clients.push(await SmtpClient.open(mayfly.smtpPort));
  }
  const close = () => {
    for (const client of clients) client.close();
  };
  return { clients, inboxes, close };
}

/**
 * All senders send mail after mail until the signal.
 * @param mail made by `onTheWire`
 * @param everyMs a sender begins a mail so often at most; 0: as soon as the last one has its 250
 * @returns milliseconds from the final dot to the 250, one a mail
 */
export async function sendUntil(
  signal: AbortSignal,
  { clients, inboxes }: Senders,
  mail: Buffer,
  everyMs = 0,
): Promise<number[]> {
  const latencies: number[] = [];
  const one = async (client: SmtpClient, to: string, index: number): Promise<void> => {
    // Spread evenly over the interval.
    let next = performance.now() + (everyMs * index) / clients.length;
    for (let sent = 0; sent < MAX_MAILS_EACH && !signal.aborted; sent++) {
      const pause = next - performance.now();
      if (pause > 0) await sleep(pause);
      next += everyMs;
      latencies.push((await client.send(to, mail)).ms);
    }
  };
  await Promise.all(clients.map((client, index) => one(client, inboxes[index]?.address ?? '', index)));
  return latencies;
}
