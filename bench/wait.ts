import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEventStream } from './support/event-stream.ts';
import { openSenders, sendUntil } from './support/load.ts';
import { realisticMail } from './support/mails.ts';
import { type Mayfly, withMayfly } from './support/mayfly.ts';
import { alone, type Row } from './support/rows.ts';
import { onTheWire, SmtpClient } from './support/smtp-client.ts';
import { percentile } from './support/stats.ts';

const MAILS = 500;
const BACKGROUND_SENDERS = 10;
/** Ten senders, one mail every 50 ms each: 200 a second. */
const BACKGROUND_EVERY_MS = 50;
/** Until the request is held for sure. */
const HELD_AFTER_MS = 3;
const WAIT_SECONDS = 30;
const IDLE_P99_MS = 2.7;

/** From a sender's 250 to the moment when a test that waits for the mail has the whole answer. */
export async function wait(): Promise<Row[]> {
  const mail = onTheWire(await realisticMail());
  return withMayfly({}, async (mayfly) => {
    await latencies(mayfly, mail);
    const idle = await latencies(mayfly, mail);
    const busy = await underLoad(mayfly, mail, () => latencies(mayfly, mail));
    return [
      ...rows('a held wait at idle', idle, IDLE_P99_MS),
      ...rows('a held wait beside 200 mails/s to other inboxes', busy),
      ...rows('a stream at idle', await streamed(mayfly, mail), IDLE_P99_MS),
      ...rows(
        'a stream beside 200 mails/s to other inboxes',
        await underLoad(mayfly, mail, () => streamed(mayfly, mail)),
      ),
      ...deliveryRows('idle', await delivered(mayfly, mail)),
      ...deliveryRows(
        'beside 200 mails/s to other inboxes',
        await underLoad(mayfly, mail, () => delivered(mayfly, mail)),
      ),
    ];
  });
}

export async function underLoad<T>(mayfly: Mayfly, mail: Buffer, work: () => Promise<T>): Promise<T> {
  const senders = await openSenders(mayfly, BACKGROUND_SENDERS);
  const stop = new AbortController();
  const sending = sendUntil(stop.signal, senders, mail, BACKGROUND_EVERY_MS);
  try {
    return await work();
  } finally {
    stop.abort();
    await sending;
    senders.close();
  }
}

/**
 * Milliseconds from the 250 of each mail to the whole answer of a wait for it.
 * @param receiving the node that the mails are sent to; by default that of the waits
 */
export async function latencies(mayfly: Mayfly, mail: Buffer, receiving = mayfly): Promise<number[]> {
  const { id, address, token, cursor } = await mayfly.createInbox();
  const client = await SmtpClient.open(receiving.smtpPort);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const seen: number[] = [];
  let since = cursor;
  try {
    for (let i = 0; i < MAILS; i++) {
      const url = `${mayfly.url}/v1/inboxes/${id}/messages?wait=${WAIT_SECONDS}&since=${encodeURIComponent(since)}`;
      const sent = sleep(HELD_AFTER_MS).then(() => client.send(address, mail));
      const [answer, { at }] = await Promise.all([hold(url, token, agent), sent]);
      if (answer.messages !== 1) throw new Error(`a wait was answered with ${answer.messages} messages`);
      since = answer.cursor;
      seen.push(Math.max(0, answer.at - at));
    }
    return seen;
  } finally {
    client.close();
    agent.destroy();
  }
}

/** The same for a reader that follows the inbox's stream. */
async function streamed(mayfly: Mayfly, mail: Buffer): Promise<number[]> {
  const { id, address, token } = await mayfly.createInbox();
  const client = await SmtpClient.open(mayfly.smtpPort);
  const stream = await openEventStream(`${mayfly.url}/v1/inboxes/${id}/events`, token);
  const seen: number[] = [];
  try {
    for (let i = 0; i < MAILS; i++) {
      await sleep(HELD_AFTER_MS);
      const [at, sent] = await Promise.all([stream.next(), client.send(address, mail)]);
      seen.push(Math.max(0, at - sent.at));
    }
    return seen;
  } finally {
    client.close();
    stream.close();
  }
}

/** The same for an endpoint of the inbox's own webhook; the moment is when the delivery has come whole. */
async function delivered(mayfly: Mayfly, mail: Buffer): Promise<number[]> {
  let arrived: (at: number) => void = () => undefined;
  const endpoint = createServer((request, response) => {
    request.resume().on('end', () => {
      arrived(performance.now());
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(endpoint, 'listening');
  const { port } = endpoint.address() as AddressInfo;
  const { address } = await mayfly.createInbox({ webhookUrl: `http://127.0.0.1:${port}/` });
  const client = await SmtpClient.open(mayfly.smtpPort);
  const seen: number[] = [];
  try {
    for (let i = 0; i < MAILS; i++) {
      const arrival = new Promise<number>((resolve) => {
        arrived = resolve;
      });
      const [at, sent] = await Promise.all([arrival, client.send(address, mail)]);
      seen.push(Math.max(0, at - sent.at));
    }
    return seen;
  } finally {
    client.close();
    endpoint.closeAllConnections();
    endpoint.close();
  }
}

interface Answer {
  at: number;
  messages: number;
  cursor: string;
}

/** Bare node:http: a client that does more would be measured, too. */
function hold(url: string, token: string, agent: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece) => pieces.push(piece));
      response.on('end', () => {
        const at = performance.now();
        const { messages = [], cursor = '' } = JSON.parse(Buffer.concat(pieces).toString());
        resolve({ at, messages: messages.length, cursor });
      });
    }).on('error', reject);
  });
}

export const rows = (by: string, ms: number[], atMost = 10): Row[] => [
  alone(`250 to seen by ${by}, p50`, 'ms', [percentile(ms, 0.5)]),
  alone(`250 to seen by ${by}, p99`, 'ms', [percentile(ms, 0.99)], { atMost }),
];

/** A delivery is claimed and signed first, so it is measured without the budget of those who only look. */
const deliveryRows = (when: string, ms: number[]): Row[] =>
  [0.5, 0.99].map((part) =>
    alone(`250 to delivered at a healthy endpoint, ${when}, p${part * 100}`, 'ms', [percentile(ms, part)]),
  );
