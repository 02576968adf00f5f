import { setTimeout as sleep } from 'node:timers/promises';
import { type WebSocket, WebSocketServer } from 'ws';
import { Refused } from '../api.ts';
import type { Change } from '../changes.ts';
import type { Mailbox } from '../mailbox.ts';
import { rowOf } from './shapes.ts';

/** Unread bytes after which a client is disconnected: some hundred messages. */
const MAX_UNREAD_BYTES = 1024 * 1024;
/** Minimum interval of the mailbox statistics, milliseconds. */
const STATS_EVERY_MS = 250;
/** Computing statistics may take this fraction of the time (1/10), because it reads the whole mailbox. */
const STATS_SHARE = 10;

/** Limit of concurrent connections, each of which holds a request. */
export const MAX_FOLLOWERS = 200;
/** Clients send no messages. */
const MAX_RECEIVED_BYTES = 1024;
/** How long a closing connection waits for the client's close frame, milliseconds. A stopping server waits for it. */
const CLOSE_TIMEOUT_MS = 1_000;

/** Close codes (RFC 6455 section 7.4.1): the server stops, or the client may no longer read. */
const [GOING_AWAY, POLICY] = [1001, 1008];

export function createWebSockets(): WebSocketServer {
  const options = { noServer: true, maxPayload: MAX_RECEIVED_BYTES, closeTimeout: CLOSE_TIMEOUT_MS };
  return new WebSocketServer(options);
}

/**
 * Sends the events of a mailbox as Mailpit does at `/api/events`: `new` with the row of each new message,
 * changes by other clients, and `stats`. Closes the connection when its client stops reading, is gone, or
 * loses its permission. @param subscribe subscribes to changes; returns a function that unsubscribes
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
      // Too many to announce one by one: the client reloads its list.
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

/**
 * Returns a function that requests statistics of the mailbox, which are sent some time later, once for many requests.
 */
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
    // The connection works without statistics; reading messages reports the same error.
    run().catch(() => undefined);
  };
}
