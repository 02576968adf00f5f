import { WaitTimeoutError } from './errors.ts';
import { explanationLines, seconds } from './explain.ts';
import type * as api from './generated/api.ts';
import { describeMatch, type Match, meets, type SplitMatch, split } from './match.ts';
import { Message } from './message.ts';
import { now, sleep } from './time.ts';
import { type Milliseconds, pauseBefore, type Transport } from './transport.ts';

/** Longest held request: proxies close longer ones, so a wait may need several. */
const MAX_HOLD_SECONDS = 25;
/**
 * Extra time for the round trip of a held request and for the last check after the deadline. It takes
 * milliseconds; only a very busy machine needs more, and then a late result is better than none.
 */
const GRACE = 5_000;
/** If less than this is left after a held request, no further one is sent. */
const CLOSE = 50;
/** Longest wait that the API accepts: a day, in seconds. */
const MAX_SECONDS = 86_400;
/** Time limit to fetch a message that is too large for the result of a wait. */
const READ_TIME = 30_000;

const WAIT = 'POST /v1/inboxes/{id}/wait';

/** The inbox that a wait reads. */
export interface WaitTarget {
  id: string;
  /** For people: the address if it is known, else the id. */
  name: string;
  consoleUrl: string;
  labels: Record<string, string>;
}

export interface WaitFor {
  match: Match;
  count: number;
  timeout: Milliseconds;
  /** Why the timeout was shortened; '' if it was not. */
  cut: string;
  /** The timeout before it was shortened. */
  asked?: Milliseconds | undefined;
  /** Undefined: the beginning of the inbox. */
  since: string | undefined;
  /** The message that the previous wait returned, if this one begins after it. */
  last: Message | undefined;
  signal: AbortSignal | undefined;
}

/** The last result of a wait. */
interface Held {
  result: api.WaitResult;
  /** False if the last request failed, so that `result` is from an earlier one. */
  isFinal: boolean;
}

/**
 * Sends held requests until a message matches or the time is over. A request that was interrupted by a proxy
 * or a restart is repeated with the same `since`, so that no message is missed or returned twice.
 * @throws ApiError for a permanent error, ConnectionError when no request succeeded in time
 */
async function hold(
  transport: Transport,
  id: string,
  body: object,
  end: number,
  signal: AbortSignal | undefined,
): Promise<Held> {
  const begun = now();
  let last: api.WaitResult | undefined;
  for (let failures = 0; ; ) {
    const left = Math.max(0, end - now());
    const timeoutSeconds = Math.min(MAX_HOLD_SECONDS, Math.ceil(left) / 1000);
    // Servers that return `waitId` also accept this field: they explain the whole wait, not only its last
    // request.
    const waited = last?.waitId && { waitedSeconds: Math.min((now() - begun) / 1000, MAX_SECONDS) };
    const input = { path: { id }, body: { ...body, timeoutSeconds, ...waited }, signal };
    try {
      last = (await transport.attempt(WAIT, input, timeoutSeconds * 1000 + GRACE)) as api.WaitResult;
      if (last.matched) return { result: last, isFinal: true };
      // The server ended the wait early because it is stopping; retry on its successor.
      if (last.explanation?.reason === 'server_stopping') throw new Error('The server is stopping.');
      // Compares the requested time and not the clock, so that a test with frozen clocks gets its result.
      if (timeoutSeconds * 1000 > left - CLOSE) return { result: last, isFinal: true };
      failures = 0;
    } catch (failure) {
      signal?.throwIfAborted();
      const pause = pauseBefore(failure, ++failures);
      const isHopeless = pause === Number.POSITIVE_INFINITY || (pause > left && left > GRACE);
      if (left === 0 && last && !isHopeless) return { result: last, isFinal: false };
      if (left === 0 || isHopeless) throw transport.errorFor(failure, failures);
      await sleep(Math.min(pause, end - now()), signal);
    }
  }
}

/**
 * Completes a message from the result of a wait: fetches it separately if it was too large for the result.
 */
async function inFull(transport: Transport, fields: api.Message, signal: AbortSignal | undefined) {
  const message = new Message(transport, fields);
  return fields.truncated ? message.read({ signal, timeout: READ_TIME }) : message;
}

/**
 * Waits for messages, oldest first.
 * @throws WaitTimeoutError with the explanation as text, and everything that a request throws
 */
export async function waitForMessages(
  transport: Transport,
  inbox: WaitTarget,
  wanted: WaitFor,
): Promise<Message[]> {
  const { match, count, timeout, asked, signal } = wanted;
  const askedSeconds = asked && Math.min(asked / 1000, MAX_SECONDS);
  const end = now() + timeout;
  const parts = split(match);
  const found: Message[] = [];
  const rejected: api.SeenMessage[] = [];
  for (let { since } = wanted; ; ) {
    // Conditions that the client checks are applied to one message at a time, so each request returns one.
    const body = { match: parts.onServer, count: parts.isLocal ? 1 : count, since, askedSeconds };
    const held = await hold(transport, inbox.id, body, end, signal);
    for (const fields of held.result.messages) {
      const message = await inFull(transport, fields, signal);
      const failed = parts.failures(message);
      if (failed.length === 0) found.push(message);
      else rejected.unshift({ message, failed });
    }
    if (found.length >= count) return found;
    if (!held.result.matched) throw timeoutError(inbox, wanted, { parts, held, rejected, found });
    since = held.result.cursor;
  }
}

/** The state of a wait that failed. */
interface Ended {
  parts: SplitMatch;
  held: Held;
  /** Messages that met the conditions for the server but not those for the client, newest first. */
  rejected: api.SeenMessage[];
  found: Message[];
}

/** The error of a failed wait: a sentence with the reason, the conditions, and the explanation as a table. */
function timeoutError(
  inbox: WaitTarget,
  wanted: WaitFor,
  { parts, held, rejected, found }: Ended,
): WaitTimeoutError {
  const { match, count, timeout, cut, since } = wanted;
  const { result, isFinal } = held;
  const { waitId } = result;
  const explanation = result.explanation && {
    ...result.explanation,
    // The server does not know the conditions that the client checks.
    ...(rejected.length > 0 && {
      summary: `${rejected.length === 1 ? 'A message' : `${rejected.length} messages`} arrived, but did not meet what the client checks itself: ${[...new Set(rejected.flatMap(({ failed }) => failed.map(({ condition }) => condition)))].join(', ')}.`,
    }),
    seenCount: result.explanation.seenCount + rejected.length,
    seen: [...rejected, ...result.explanation.seen],
  };
  const noun = count === 1 ? 'a mail' : `${count} mails`;
  const came = count > 1 && found.length > 0 ? `, and ${found.length} came` : '';
  const lines = [
    `Waited ${seconds(timeout)} for ${noun}${describeMatch(match)} to ${inbox.name}${came}.${cut && ` ${cut}`}`,
    ...(since ? [sinceLine(wanted)] : []),
    ...(explanation ? explanationLines(explanation) : []),
    ...(isFinal ? [] : ['The server could not be reached at the end: this is what it said before.']),
    `Look: ${whyUrl(inbox, wanted, parts, waitId)}`,
  ];
  const text = `${explanation?.summary ?? 'No mail came.'}\n  ${lines.join('\n  ')}`;
  return new WaitTimeoutError(text, { inboxId: inbox.id, timeout, waitId, explanation, isFinal });
}

/**
 * The console page that explains this wait, by its id and its conditions for the server. The label lets it
 * find the inbox after its end.
 */
function whyUrl(
  { consoleUrl, labels }: WaitTarget,
  { count, since }: WaitFor,
  { onServer }: SplitMatch,
  waitId: string | undefined,
): string {
  const query = new URLSearchParams(waitId && { wait: waitId });
  for (const [name, value] of Object.entries(onServer)) {
    // Conditions of a link become parameters such as `link.kind=reset`.
    const parts = Object.entries(Object(value) === value ? Object(value) : {}).filter(
      ([, wanted]) => wanted !== undefined,
    );
    for (const [part, wanted] of parts) query.set(`${name}.${part}`, String(wanted));
    // An empty object means any link.
    if (parts.length === 0) query.set(name, String(Object(value) === value || value));
  }
  if (since) query.set('since', since);
  if (count !== 1) query.set('count', String(count));
  const [label] = Object.entries(labels).sort(([a], [b]) => Number(b === 'run') - Number(a === 'run'));
  if (label) query.set(`label.${label[0]}`, label[1]);
  return `${consoleUrl}/why${query.size > 0 ? `?${query}` : ''}`;
}

/** States where the wait began, because an earlier message that matches is often overlooked. */
function sinceLine({ match, since, last }: WaitFor): string {
  // Typical for two waits on the code and the link of one mail: the second wait begins after that mail.
  if (last && meets(last, match))
    return `${last.subject ? JSON.stringify(last.subject) : 'A message without a subject'} matches, but the wait before returned it. Take both from one mail: const mail = await inbox.waitForMessage(…), then mail.code() and mail.link().`;
  const position = last ? 'the message that the wait before returned' : since;
  return `It began after ${position}: pass since: 'start' to include what came before.`;
}
