import { setTimeout as sleep } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import { Refused } from '../api.ts';
import type { Change } from '../changes.ts';
import type { Mailbox } from '../mailbox.ts';
import { rowOf } from './shapes.ts';

/** Bytes that a client may leave unread before it is disconnected: some hundred messages. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Figures are sent at most so often, milliseconds. */
const STATS_EVERY_MS = 250;
/** They may take this part of the time, since the whole mailbox is read for them. */
const STATS_SHARE = 10;

/** Connections at once, each with a request that is held. */
export const MAX_FOLLOWERS = 200;
/** Clients have nothing to say. */
const MAX_RECEIVED_BYTES = 1024;
/** How long a closed connection waits for the close of its client, milliseconds. A server that stops waits for it. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Why a connection was closed (RFC 6455 section 7.4.1): the server ends, or the client may not read. */
const [GOING_AWAY, POLICY] = [1001, 1008];

export function createWebSockets(): WebSocketServer {
  const options = { noServer: true, maxPayload: MAX_RECEIVED_BYTES, closeTimeout: CLOSE_TIMEOUT_MS };
  return new WebSocketServer(options);
}

/**
 * Sends what happens in a mailbox, as Mailpit does at `/api/events`: `new` with the row of each new message, what others
 * changed, and `stats`. Ends with the connection, which is closed when its client does not read, is gone, or may no
 * longer read the mailbox.
 * @param subscribe to changes; returns what ends that
 */
export async function sendEvents(
  socket: WebSocket,
  mailbox: Mailbox,
  subscribe: (listener: (change: Change) => void) => () => void,
): Promise<void> {
  const closed = new AbortController();
  let isAlive = true;
  socket.once('close', () => closed.abort());
  // The library closes the connection after an error.
  socket.on('error', () => undefined);
  socket.on('pong', () => {
    isAlive = true;
  });
  const send = (Type: string, Data: unknown): void => {
    if (socket.bufferedAmount > MAX_UNREAD_BYTES) socket.terminate();
    else socket.send(JSON.stringify({ Type, Data }));
  };
  const sendStats = createStats(mailbox, closed.signal, (stats) => send('stats', stats));
  const unsubscribe = subscribe(({ Type, Data }) => {
    send(Type, Data);
    sendStats();
  });
  try {
    sendStats();
    for await (const messages of mailbox.arrivals(closed.signal)) {
      if (!isAlive) return socket.terminate();
      isAlive = messages === null || messages.length > 0;
      if (!isAlive) socket.ping();
      // More at once than are listed one by one: the client lists them itself.
      if (messages === null) send('prune', null);
      for (const message of messages ?? [])
        send('new', rowOf(message, await mailbox.details(message), 'event'));
      if (messages?.length !== 0) sendStats();
    }
  } catch (error) {
    if (closed.signal.aborted) return;
    const isRefused = error instanceof Refused && error.status < 500;
    socket.close(isRefused ? POLICY : GOING_AWAY);
    if (!(error instanceof Refused)) throw error;
  } finally {
    unsubscribe();
  }
}

/** Figures of a mailbox, sent some time after they are asked for, and once for many requests. */
function createStats(mailbox: Mailbox, signal: AbortSignal, send: (stats: object) => void): () => void {
  let isDue = false;
  let pause = STATS_EVERY_MS;
  const run = async (): Promise<void> => {
    await sleep(pause, undefined, { signal, ref: false });
    isDue = false;
    const begun = performance.now();
    const all = await mailbox.all();
    const unread = all.filter(({ readAt }) => readAt === null).length;
    send({ Total: all.length, Unread: unread, Version: 'Mayfly' });
    pause = Math.max(STATS_EVERY_MS, STATS_SHARE * (performance.now() - begun));
  };
  return () => {
    if (isDue) return;
    isDue = true;
    // Without figures the connection is still of use, and what reads the messages says what is wrong.
    run().catch(() => undefined);
  };
}
