import { signal } from '@preact/signals';
import { type Arrival, openings, publish } from './arrivals.ts';
import { mayfly, type Session } from './session.ts';
import { serverNow } from './time.ts';

/*
 * New mail as it comes. One tab holds the stream of the account and passes events on to the others: browsers
 * allow a server six connections, and each stream takes one. Events are the fast way only: a list asks for what
 * is behind its cursor whenever the stream opens again, so nothing is lost by a cut, a closed tab or sleep.
 */

/** `lost`: the stream was cut and is being resumed. */
export const connection = signal<'connecting' | 'open' | 'lost'>('connecting');
/** When something was last heard of the server. */
export const lastHeardAt = signal(serverNow());
/** How many parts of the page could not be loaded anew, and say so. */
export const stale = signal(0);

/** Pauses between attempts to begin the stream double up to the longest; once begun, it resumes by itself. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

let pending: Arrival[] = [];

/**
 * Pauses between deliveries, milliseconds: so much longer than the page takes to draw one, because it may be on the
 * machine of the server, which needs the processor while much arrives.
 */
const REST = 10;
const SHORTEST_PAUSE_MS = 100;
const LONGEST_DELIVERY_PAUSE_MS = 2_000;
const HIDDEN_PAUSE_MS = 1_000;
let nextDelivery = 0;
let isDrawing = false;

function flush(): void {
  if (pending.length === 0) return;
  const arrivals = pending;
  pending = [];
  isDrawing = true;
  const begun = performance.now();
  publish(arrivals);
  // After it was drawn.
  setTimeout(() => {
    isDrawing = false;
    const drawn = performance.now();
    const rest = Math.max(SHORTEST_PAUSE_MS, (drawn - begun) * REST);
    nextDelivery = drawn + Math.min(rest, LONGEST_DELIVERY_PAUSE_MS);
    if (pending.length > 0) schedule();
  });
}

function schedule(): void {
  // A hidden page has no frames.
  if (document.hidden) setTimeout(flush, HIDDEN_PAUSE_MS);
  else setTimeout(() => requestAnimationFrame(flush), Math.max(0, nextDelivery - performance.now()));
}

// What waits for a frame would wait until the page is shown again.
addEventListener('visibilitychange', () => {
  if (document.hidden) setTimeout(flush, HIDDEN_PAUSE_MS);
});

function deliver(arrival: Arrival): void {
  lastHeardAt.value = serverNow();
  pending.push(arrival);
  if (pending.length === 1 && !isDrawing) schedule();
}

function setConnection(isOpen: boolean): void {
  // A stream that was open until now was heard until now; later failures of the same cut change nothing.
  if (isOpen || connection.value === 'open') lastHeardAt.value = serverNow();
  if (isOpen && connection.value !== 'open') openings.value += 1;
  connection.value = isOpen ? 'open' : 'lost';
}

type Note = { arrival: Arrival } | { isOpen: boolean } | { hello: true };

/** Starts following; ends with the signal. */
export async function startLive({ account, inbox }: Session, signal: AbortSignal): Promise<void> {
  const scope = account?.id ?? inbox?.id ?? '';
  const channel = new BroadcastChannel(`mayfly ${scope}`);
  let leads = false;
  const tell = (note: Note) => channel.postMessage(note);
  channel.onmessage = ({ data }: MessageEvent<Note>) => {
    if ('arrival' in data) deliver(data.arrival);
    else if ('isOpen' in data) setConnection(data.isOpen);
    else if (leads) tell({ isOpen: connection.value === 'open' });
  };
  signal.addEventListener('abort', () => {
    channel.close();
    connection.value = 'connecting';
  });
  // The stream itself finds that only when its time is over.
  addEventListener('offline', () => setConnection(false), { signal });
  tell({ hello: true });
  const onConnection = (isOpen: boolean) => {
    setConnection(isOpen);
    if (!signal.aborted) tell({ isOpen });
  };
  const lead = async (): Promise<void> => {
    leads = true;
    // Lists ask again when the stream opens, so that nothing is missed between two leaders.
    connection.value = 'connecting';
    const arrivals = account
      ? mayfly.stream(undefined, { since: await newest(), signal, onConnection })
      : inboxArrivals(inbox?.id ?? '', signal, onConnection);
    for await (const { inboxId, message } of arrivals) {
      deliver({ inboxId, message });
      tell({ arrival: { inboxId, message } });
    }
  };
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const opened = openings.value;
    try {
      // Locks exist on HTTPS and localhost only; elsewhere each tab has a stream of its own.
      if (navigator.locks) await navigator.locks.request(`mayfly ${scope}`, { signal }, lead);
      else await lead();
    } catch {
      // The stream was refused, or the server did not respond before it began. Why, the lists say.
      if (!signal.aborted) onConnection(false);
    }
    leads = false;
    if (openings.value > opened) pause = FIRST_PAUSE_MS;
    await sleep(pause, signal);
  }
}

/** Resolves after the time, or at once when the signal is aborted. */
const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Position of the newest message: a time would depend on the clock of this machine. */
const newest = async (): Promise<string> =>
  (await mayfly.call('GET /v1/messages', { query: { limit: 1 } })).cursor;

async function* inboxArrivals(inboxId: string, signal: AbortSignal, onConnection: (isOpen: boolean) => void) {
  const path = { id: inboxId };
  const { cursor } = await mayfly.call('GET /v1/inboxes/{id}/messages', { path, query: { limit: 1 } });
  const options = { since: cursor, signal, onConnection };
  for await (const { message } of mayfly.stream(inboxId, options)) yield { inboxId, message };
}
