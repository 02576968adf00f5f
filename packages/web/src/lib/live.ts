import { signal } from '@preact/signals';
import { type Arrival, openings, publish, tell } from './arrivals.ts';
import { mayfly, type Session } from './session.ts';
import { serverNow } from './time.ts';

/*
 * New mail as it comes. One tab holds the stream of the account and passes events on to the others: browsers
 * allow a server six connections, and each stream takes one. Events are the fast way only: a list asks for what
 * is behind its cursor whenever the stream opens again, so nothing is lost by a cut, a closed tab or sleep.
 *
 * A stream costs the server work for each mail. So while no tab is shown, one of them asks now and then for what is
 * new, of which the title and notes tell; a tab that is shown again takes over, and its stream goes on where it was left.
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

/** A page that was hidden for a moment keeps its stream. */
const AWAY_MS = 5_000;
const isAway = signal(document.hidden);
let awayTimer: ReturnType<typeof setTimeout> | undefined;
addEventListener('visibilitychange', () => {
  clearTimeout(awayTimer);
  if (!document.hidden) isAway.value = false;
  else awayTimer = setTimeout(() => (isAway.value = true), AWAY_MS);
});

/** Of new mail a hidden page gets so much at a time, after each pause: of a thousand mails in a second, one percent. */
const COUNTED = 10;
const COUNT_PAUSE_MS = 10_000;
/** The longest that the API holds a request. */
const COUNT_WAIT_S = 60;

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

/** `at`: the position of the stream; `counts`: that the leading tab is hidden and only counts. */
type Note =
  | { arrival: Arrival; at: string }
  | { isOpen: boolean; at: string | undefined }
  | { counts: true; at: string | undefined }
  | { news: Arrival[]; more: boolean }
  | { hello: true };

/** Starts following; ends with the signal. */
export async function startLive({ account, inbox }: Session, signal: AbortSignal): Promise<void> {
  const scope = account?.id ?? inbox?.id ?? '';
  const channel = new BroadcastChannel(`mayfly ${scope}`);
  const send = (note: Note) => channel.postMessage(note);
  /** Mail of one inbox only is little: its stream goes on. */
  const counts = () => account !== null && isAway.value;
  let leads = false;
  let position: string | undefined;
  /** Ends the turn of this tab, or its wait for one. */
  let turn = new AbortController();
  /** From the note of a tab that counts until this one has the lock: a second note of it changes nothing. */
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
  // The stream itself finds that only when its time is over.
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
    // Lists ask again when the stream opens, so that nothing is missed between two leaders.
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
      // Locks exist on HTTPS and localhost only; elsewhere each tab has a stream of its own.
      const how = takesOver ? { steal: true } : { signal: ending };
      if (navigator.locks) await navigator.locks.request(`mayfly ${scope}`, how, lead);
      else await lead();
    } catch (error) {
      // Another tab took over, or this one was shown or hidden.
      if (ending.aborted || (error instanceof DOMException && error.name === 'AbortError')) continue;
      // The stream was refused, or the server did not respond before it began. Why, the lists say.
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

const newestOf = async (id: string): Promise<string> =>
  (await mayfly.call('GET /v1/inboxes/{id}/messages', { path: { id }, query: { limit: 1 } })).cursor;
