import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { largeMail } from '../support/mails.ts';
import { type Mayfly, withMayfly } from '../support/mayfly.ts';
import { alone, type Row } from '../support/rows.ts';
import { onTheWire, SmtpClient } from '../support/smtp-client.ts';
import { percentile } from '../support/stats.ts';

const MIB = 1024 * 1024;
const PIPELINED_BYTES = 500_000;
const BURST_CONNECTIONS = 300;
const BURST_REQUESTS = 2_000;
const SILENT_CONNECTIONS = 10_000;
const UNREAD = 40;
const ATTACHMENT_BYTES = 24 * MIB;
/** Requests of the client that is not to notice. */
const REQUESTS = 200;
/** Where others stop that client, it sends fewer. */
const LIMIT_MS = 60_000;
const MAX_MS = 100;

/** What HTTP clients without a credential, or with one, can do to another client. */
export async function hostileHttp(): Promise<Row[]> {
  return [
    ...(await pipelining()),
    ...(await bursts()),
    ...(await silentConnections()),
    ...(await unreadAnswers()),
  ];
}

interface Noticed {
  /** Of each request, milliseconds. */
  times: number[];
  /** Highest resident memory of the server meanwhile, MiB. */
  peak: number;
}

/** Sends requests one after the other, each on a connection of its own. */
async function timeRequests({ url, key, memory }: Mayfly): Promise<Noticed> {
  const times: number[] = [];
  let peak = 0;
  const end = performance.now() + LIMIT_MS;
  for (let count = 0; count < REQUESTS && performance.now() < end; count++) {
    const begun = performance.now();
    const response = await fetch(`${url}/v1/inboxes`, {
      headers: { authorization: `Bearer ${key}`, connection: 'close' },
    });
    await response.arrayBuffer();
    if (response.status !== 200) throw new Error(`GET /v1/inboxes: ${response.status}`);
    times.push(performance.now() - begun);
    peak = Math.max(peak, memory().now);
  }
  return { times, peak };
}

const open = (url: string, localAddress?: string): Socket => {
  const { hostname: host, port } = new URL(url);
  // What the server does with these connections is its right.
  return connect({ host, port: Number(port), ...(localAddress && { localAddress }) }).on(
    'error',
    () => undefined,
  );
};

const rows = (
  beside: string,
  times: number[],
  memory: number,
  mostMemory: number,
  mostMs = MAX_MS,
): Row[] => [
  alone(`another client's request beside ${beside}, p99`, 'ms', [percentile(times, 0.99)], {
    atMost: mostMs,
  }),
  alone(`memory taken by ${beside}`, 'MiB', [memory], { atMost: mostMemory }),
];

function pipelining(): Promise<Row[]> {
  const request = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n';
  return withMayfly({}, async (mayfly) => {
    await (await fetch(`${mayfly.url}/openapi.json`)).arrayBuffer();
    const before = mayfly.memory().now;
    const socket = open(mayfly.url).pause();
    socket.write(request.repeat(Math.ceil(PIPELINED_BYTES / request.length)));
    const { times, peak } = await timeRequests(mayfly);
    socket.destroy();
    return rows('500 KB of pipelined GET /openapi.json', times, peak - before, 50);
  });
}

/** Each connection sends its burst as soon as it is open, and is opened again when the server has closed it. */
function bursts(): Promise<Row[]> {
  const burst = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(BURST_REQUESTS);
  return withMayfly({}, async (mayfly) => {
    const sockets = new Set<Socket>();
    let isOver = false;
    const attack = (): void => {
      if (isOver) return;
      const socket = open(mayfly.url, '127.0.0.2').resume();
      sockets.add(socket);
      socket.once('close', () => {
        sockets.delete(socket);
        attack();
      });
      socket.write(burst);
    };
    for (let count = 0; count < BURST_CONNECTIONS; count++) attack();
    const { times, peak } = await timeRequests(mayfly);
    isOver = true;
    for (const socket of sockets) socket.destroy();
    return rows(
      '300 connections of another address with 2,000 pipelined requests each',
      times,
      peak,
      300,
      200,
    );
  });
}

function silentConnections(): Promise<Row[]> {
  return withMayfly({}, async (mayfly) => {
    const before = mayfly.memory().now;
    const sockets: Socket[] = [];
    while (sockets.length < SILENT_CONNECTIONS) {
      const some = Array.from({ length: 100 }, () => open(mayfly.url));
      sockets.push(...some);
      await Promise.all(some.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    }
    const { times, peak } = await timeRequests(mayfly);
    for (const socket of sockets) socket.destroy();
    return rows('10,000 silent connections from one address', times, peak - before, 100);
  });
}

function unreadAnswers(): Promise<Row[]> {
  return withMayfly({}, async (mayfly) => {
    const inbox = await mayfly.createInbox();
    const client = await SmtpClient.open(mayfly.smtpPort);
    await client.send(inbox.address, onTheWire(largeMail(ATTACHMENT_BYTES)));
    client.close();
    const { messages } = await mayfly.get<{ messages: { id: string }[] }>(`/v1/inboxes/${inbox.id}/messages`);
    const path = `/v1/inboxes/${inbox.id}/messages/${messages[0]?.id}/attachments/att_1`;
    const before = mayfly.memory().now;
    const sockets = Array.from({ length: UNREAD }, () => open(mayfly.url).pause());
    for (const socket of sockets) {
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${mayfly.key}\r\n\r\n`);
    }
    const { times, peak } = await timeRequests(mayfly);
    for (const socket of sockets) socket.destroy();
    return rows('40 unread attachments of 24 MB', times, Math.max(0, peak - before), 100);
  });
}
