import { signal } from '@preact/signals';
import { type Arrival, openings, publish, tell } from './arrivals.ts';
import { mayfly, type Session } from './session.ts';
import { serverNow } from './time.ts';

/*
 * Live arrival of mail. One tab reads the account's event stream and passes events on to the others, because
 * browsers allow six connections per server. Events are only a notification: whenever the stream reopens,
 * lists fetch what is after their cursor, so an interruption, a closed tab or sleep loses nothing. Each mail
 * on a stream costs the server work, so while all tabs are hidden, one of them only polls for new mail, to
 * update the title and notifications. A tab that becomes visible takes over and continues the stream at its
 * last position.
 */

/** `lost`: the stream was interrupted and is being resumed. */
export const connection = signal<'connecting' | 'open' | 'lost'>('connecting');
/** Time of the last sign of life of the server. */
export const lastHeardAt = signal(serverNow());
/** Number of components that could not be refreshed and show outdated data. */
export const stale = signal(0);

/** Backoff between attempts to open the stream, doubling up to the longest pause. An open stream resumes by itself. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** A page hidden for less than this keeps its stream. */
const AWAY_MS = 5_000;
const isAway = signal(document.hidden);
let awayTimer: ReturnType<typeof setTimeout> | undefined;
addEventListener('visibilitychange', () => {
  clearTimeout(awayTimer);
  if (!document.hidden) isAway.value = false;
  else awayTimer = setTimeout(() => (isAway.value = true), AWAY_MS);
});

/** A hidden page fetches at most this many new mails per pause, so that a flood of mail costs little. */
const COUNTED = 10;
const COUNT_PAUSE_MS = 10_000;
/** Longest time that the API holds a request, seconds. */
const COUNT_WAIT_S = 60;

let pending: Arrival[] = [];

/**
 * Minimum pause between updates, as a multiple of the time that drawing takes: the browser may run on the
 * server's machine and must leave it processor time while much mail arrives.
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
  // Runs after drawing.
  setTimeout(() => {
    isDrawing = false;
    const drawn = performance.now();
    const rest = Math.max(SHORTEST_PAUSE_MS, (drawn - begun) * REST);
    nextDelivery = drawn + Math.min(rest, LONGEST_DELIVERY_PAUSE_MS);
    if (pending.length > 0) schedule();
  });
}

function schedule(): void {
  // Hidden pages have no animation frames.
  if (document.hidden) setTimeout(flush, HIDDEN_PAUSE_MS);
  else setTimeout(() => requestAnimationFrame(flush), Math.max(0, nextDelivery - performance.now()));
}

// A pending animation frame would wait until the page is shown again.
addEventListener('visibilitychange', () => {
  if (document.hidden) setTimeout(flush, HIDDEN_PAUSE_MS);
});

function deliver(arrival: Arrival): void {
  lastHeardAt.value = serverNow();
  pending.push(arrival);
  if (pending.length === 1 && !isDrawing) schedule();
}

function setConnection(isOpen: boolean): void {
  // An open stream was alive until now; further failures of the same interruption do not change the time.
  if (isOpen || connection.value === 'open') lastHeardAt.value = serverNow();
  if (isOpen && connection.value !== 'open') openings.value += 1;
  connection.value = isOpen ? 'open' : 'lost';
}

/** Messages between tabs. `at`: position of the stream; `counts`: whether the leading tab is hidden and only polls. */
type Note =
  | { arrival: Arrival; at: string }
  | { isOpen: boolean; at: string | undefined }
  | { counts: true; at: string | undefined }
  | { news: Arrival[]; more: boolean }
  | { hello: true };

/** Starts following new mail until the signal aborts. */
export async function startLive({ account, inbox }: Session, signal: AbortSignal): Promise<void> {
  const scope = account?.id ?? inbox?.id ?? '';
  const channel = new BroadcastChannel(`mayfly ${scope}`);
  const send = (note: Note) => channel.postMessage(note);
  /** A single inbox has little mail, so its stream continues while hidden. */
  const counts = () => account !== null && isAway.value;
  let leads = false;
  let position: string | undefined;
  /** Aborts the leadership of this tab, or its wait for the lock. */
  let turn = new AbortController();
  /** True from a message of a polling leader until this tab has the lock, so that a second message has no effect. */
  let takesOver = false;
  channel.onmessage = ({ data }: MessageEvent<Note>) => {
    if ('hello' in data) {
      if (leads)
        send(
          counts() ? { counts: true, at: position } : { isOpen: connection.value === 'open', at: position },
        );
      return;
    }
    if ('at' in data) position = data.at ?? position;
    if ('arrival' in data) deliver(data.arrival);
    else if ('news' in data) tell(data.news, data.more);
    else if ('isOpen' in data) setConnection(data.isOpen);
    else if (!counts() && !leads && !takesOver) {
      takesOver = true;
      turn.abort();
    }
  };
  signal.addEventListener('abort', () => {
    turn.abort();
    channel.close();
    connection.value = 'connecting';
  });
  // Without this event, the stream would notice only after its timeout.
  addEventListener('offline', () => setConnection(false), { signal });
  const end = isAway.subscribe(() => {
    if (leads) turn.abort();
    send({ hello: true });
  });
  signal.addEventListener('abort', end);
  const onConnection = (isOpen: boolean) => {
    if (turn.signal.aborted) return;
    setConnection(isOpen);
    send({ isOpen, at: position });
  };
  const count = async (ending: AbortSignal): Promise<void> => {
    send({ counts: true, at: position });
    for (let since = position; ; ) {
      const query = { limit: COUNTED, wait: COUNT_WAIT_S, ...(since && { since }) };
      const timeout = 2 * COUNT_WAIT_S * 1_000;
      const page = await mayfly.call('GET /v1/messages', { query, signal: ending, timeout });
      since = page.cursor;
      const news = page.messages.map((message) => ({ inboxId: message.inboxId, message }));
      if (news.length > 0) {
        tell(news, page.hasMore);
        send({ news, more: page.hasMore });
      }
      await sleep(COUNT_PAUSE_MS, ending);
      ending.throwIfAborted();
    }
  };
  const lead = async (): Promise<void> => {
    const ending = turn.signal;
    leads = true;
    takesOver = false;
    position ??= account ? await newest() : await newestOf(inbox?.id ?? '');
    if (counts()) return count(ending);
    // Lists fetch again when the stream opens, so nothing is missed between two leaders.
    connection.value = 'connecting';
    const options = { since: position, signal: ending, onConnection };
    const arrivals = account ? mayfly.stream(undefined, options) : mayfly.stream(inbox?.id ?? '', options);
    for await (const { id, inboxId = inbox?.id ?? '', message } of arrivals) {
      position = id;
      deliver({ inboxId, message });
      send({ arrival: { inboxId, message }, at: id });
    }
  };
  for (let pause = FIRST_PAUSE_MS; !signal.aborted; ) {
    const opened = openings.value;
    turn = new AbortController();
    const { signal: ending } = turn;
    try {
      // Web Locks require HTTPS or localhost; without them each tab has its own stream.
      const how = takesOver ? { steal: true } : { signal: ending };
      if (navigator.locks) await navigator.locks.request(`mayfly ${scope}`, how, lead);
      else await lead();
    } catch (error) {
      // Another tab took over, or the visibility of this one changed.
      if (ending.aborted || (error instanceof DOMException && error.name === 'AbortError')) continue;
      // The stream was rejected, or the server was unreachable. Lists report the reason.
      onConnection(false);
      position = undefined;
    } finally {
      turn.abort();
      leads = false;
    }
    if (openings.value > opened) pause = FIRST_PAUSE_MS;
    await sleep(pause, signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
  }
}

/** Resolves after the time, or immediately when the signal aborts. */
const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });

/** Position of the newest message. A time would depend on the local clock. */
const newest = async (): Promise<string> =>
  (await mayfly.call('GET /v1/messages', { query: { limit: 1 } })).cursor;

const newestOf = async (id: string): Promise<string> =>
  (await mayfly.call('GET /v1/inboxes/{id}/messages', { path: { id }, query: { limit: 1 } })).cursor;
