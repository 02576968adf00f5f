import { WaitTimeoutError } from './errors.ts';
import { explanationLines, seconds } from './explain.ts';
import type * as api from './generated/api.ts';
import { describeMatch, type Match, meets, type SplitMatch, split } from './match.ts';
import { Message } from './message.ts';
import { now, sleep } from './time.ts';
import { type Milliseconds, pauseBefore, type Transport } from './transport.ts';

/** Proxies cut requests that are held longer: several in a row wait for the rest. */
const MAX_HOLD_SECONDS = 25;
/**
 * For the way there and back of a held request, and for the last look after the deadline. It takes milliseconds;
 * only a machine that is very busy needs more, and there a late answer is better than none.
 */
const GRACE = 5_000;
/** A hold ends this close to the deadline: not worth another request. */
const CLOSE = 50;
/** Of a whole wait, the most that the API takes: a day. */
const MAX_SECONDS = 86_400;
/** To read a message that is too large for the result of a wait. */
const READ_TIME = 30_000;

const WAIT = 'POST /v1/inboxes/{id}/wait';

/** The inbox of a wait. */
export interface WaitTarget {
  id: string;
  /** For people: the address where it is known, else the id. */
  name: string;
  consoleUrl: string;
  labels: Record<string, string>;
}

export interface WaitFor {
  match: Match;
  count: number;
  timeout: Milliseconds;
  /** Why it is shorter than the caller, or the default, would have it; '' when it is not. */
  cut: string;
  /** What the limit of the test cut it from. */
  asked?: Milliseconds | undefined;
  /** Undefined: from the beginning of the inbox. */
  since: string | undefined;
  /** The message that the wait before returned, where this one begins after it. */
  last: Message | undefined;
  signal: AbortSignal | undefined;
}

/** The last result of a wait. */
interface Held {
  result: api.WaitResult;
  /** False when the last look failed, and the result is an earlier one. */
  isFinal: boolean;
}

/**
 * Holds requests one after the other until a message matches or the time is over. Requests that a proxy or a
 * restart cuts are repeated with the same `since`, so nothing is missed or returned twice.
 * @throws ApiError for a refusal, ConnectionError when no request succeeded in time
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
    // Servers that name failed waits also know this field: they explain the whole wait, not its last request.
    const waited = last?.waitId && { waitedSeconds: Math.min((now() - begun) / 1000, MAX_SECONDS) };
    const input = { path: { id }, body: { ...body, timeoutSeconds, ...waited }, signal };
    try {
      last = (await transport.attempt(WAIT, input, timeoutSeconds * 1000 + GRACE)) as api.WaitResult;
      if (last.matched) return { result: last, isFinal: true };
      // It looked earlier than it was asked to, because it stops: the next one is asked.
      if (last.explanation?.reason === 'server_stopping') throw new Error('The server is stopping.');
      // By what was asked for, not by the clock: a test that stops all clocks still gets its answer.
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

/** A message of the result of a wait; it is read on its own where it was too large for that. */
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
    // A condition that is checked here needs one message at a time, each behind the one before.
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

/** How a wait ended that failed. */
interface Ended {
  parts: SplitMatch;
  held: Held;
  /** Messages that met the conditions of the server, but not those of the client, newest first. */
  rejected: api.SeenMessage[];
  found: Message[];
}

/** The error: one sentence that says why, what was waited for, and the explanation as a table. */
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
    // The server knows nothing of conditions that are checked here.
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
 * The screen of the console that explains this wait, with its id and its conditions. Those that only the client checks are
 * left out. A label finds what is kept of the inbox when it has ended.
 */
function whyUrl(
  { consoleUrl, labels }: WaitTarget,
  { count, since }: WaitFor,
  { onServer }: SplitMatch,
  waitId: string | undefined,
): string {
  const query = new URLSearchParams(waitId && { wait: waitId });
  for (const [name, value] of Object.entries(onServer)) {
    // A link has conditions of its own: `link.kind=reset`.
    const parts = Object.entries(Object(value) === value ? Object(value) : {}).filter(
      ([, wanted]) => wanted !== undefined,
    );
    for (const [part, wanted] of parts) query.set(`${name}.${part}`, String(wanted));
    // Of an object without a condition: any link.
    if (parts.length === 0) query.set(name, String(Object(value) === value || value));
  }
  if (since) query.set('since', since);
  if (count !== 1) query.set('count', String(count));
  const [label] = Object.entries(labels).sort(([a], [b]) => Number(b === 'run') - Number(a === 'run'));
  if (label) query.set(`label.${label[0]}`, label[1]);
  return `${consoleUrl}/why${query.size > 0 ? `?${query}` : ''}`;
}

/** Where the wait began: a message that matches and came before is a common surprise. */
function sinceLine({ match, since, last }: WaitFor): string {
  // Two waits for the code and the link of one mail: the second begins behind it.
  if (last && meets(last, match))
    return `${last.subject ? JSON.stringify(last.subject) : 'A message without a subject'} matches, but the wait before returned it. Take both from one mail: const mail = await inbox.waitForMessage(…), then mail.code() and mail.link().`;
  const position = last ? 'the message that the wait before returned' : since;
  return `It began after ${position}: pass since: 'start' to include what came before.`;
}
