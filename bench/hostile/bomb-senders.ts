/** The thread of the bomb senders: one connection for each address, each with another order of the bombs. */
import { parentPort, workerData } from 'node:worker_threads';
import { BOMBS } from '../../packages/server/test/hostile/bombs.ts';
import { anyOnTheWire, SmtpClient } from '../support/smtp-client.ts';

export interface BombLoad {
  port: number;
  /** One a sender. */
  addresses: string[];
  /** Of one bomb. */
  bytes: number;
}

const { port, addresses, bytes } = workerData as BombLoad;
let isStopped = false;
let taken = 0;

async function send(client: SmtpClient, address: string, from: number): Promise<void> {
  for (let at = from; !isStopped; at++) {
    const mail = mails[at % mails.length];
    if (mail === undefined) return;
    await client.send(address, mail);
    taken += 1;
  }
}

/** A connection that the server closed is opened again. */
async function keepSending(address: string, index: number): Promise<void> {
  while (!isStopped) {
    const client = await SmtpClient.open(port);
    try {
      await send(client, address, index * 9 + taken);
    } catch {
      // A bomb may be rejected; the next one is sent all the same.
    } finally {
      client.close();
    }
  }
}

const mails = BOMBS.map(({ mail }) => anyOnTheWire(mail(bytes)));
parentPort?.once('message', () => {
  isStopped = true;
  parentPort?.postMessage(taken);
});
parentPort?.postMessage(0);
await Promise.all(addresses.map(keepSending));
