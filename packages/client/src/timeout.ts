/** The error of a wait that fails. It is loaded when the first one fails, so that programs that wait stay small. */
import { describeMatch, explanationLines, seconds } from './explain.ts';
import { WaitTimeoutError } from './failures.ts';
import type * as api from './generated/api.ts';
import { Message } from './message.ts';
import { split } from './split.ts';
import type { Transport } from './transport.ts';
import { type Held, WAIT, type WaitFor, type WaitTarget } from './wait.ts';

/** For the question whether a message came too early: without an answer its line is left out. */
const HINT_MS = 1_000;

/**
 * The error with the explanation as a table.
 * @param rejected messages that met the conditions of the server, but not those of the client, newest first
 */
export async function timeoutError(
  transport: Transport,
  inbox: WaitTarget,
  wanted: WaitFor,
  foundCount: number,
  rejected: api.SeenMessage[],
  { result, isFinal }: Held,
): Promise<WaitTimeoutError> {
  const { match, count, timeoutMs, askedMs } = wanted;
  const explanation = result.explanation && {
    ...result.explanation,
    seenCount: result.explanation.seenCount + rejected.length,
    seen: [...rejected, ...result.explanation.seen],
  };
  const lines = [
    ...(explanation ? explanationLines(explanation) : []),
    ...(await earlierLines(transport, inbox.id, wanted)),
    ...(isFinal ? [] : ['The server could not be reached at the end: this is what it said before.']),
    `Look: ${whyUrl(inbox, wanted, result.waitId)}`,
  ];
  const cut = askedMs === undefined ? '' : ` (cut from ${seconds(askedMs)} by the time limit of the test)`;
  const text = `${missing(foundCount, count)}${describeMatch(match)} reached ${inbox.name} in ${seconds(timeoutMs)}${cut}.\n  ${lines.join('\n  ')}`;
  return new WaitTimeoutError(text, inbox.id, timeoutMs, explanation, isFinal);
}

/**
 * The screen of the console that shows what was explained, and the conditions to look again with. Those that only
 * the client checks are left out. A label finds what is kept of the inbox when it has ended.
 * @param waitId absent from servers that store no explanations
 */
function whyUrl(
  { consoleUrl, labels }: WaitTarget,
  { match, count, since }: WaitFor,
  waitId: string | undefined,
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(split(match).onServer)) {
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
  if (waitId) query.set('wait', waitId);
  return `${consoleUrl}/why${query.size > 0 ? `?${query}` : ''}`;
}

function missing(foundCount: number, count: number): string {
  if (foundCount > 0) return `Only ${foundCount} of ${count} mails`;
  return count > 1 ? `None of ${count} mails` : 'No mail';
}

/** A message that matches, but came before the one that the handle returned last, is a common surprise. */
async function earlierLines(
  transport: Transport,
  id: string,
  { match, since, signal }: WaitFor,
): Promise<string[]> {
  if (!since) return [];
  const { onServer, failures } = split(match);
  try {
    const body = { match: onServer, timeoutSeconds: 0 };
    const input = { path: { id }, body, signal, timeoutMs: HINT_MS };
    const { messages } = (await transport.send(WAIT, input)) as api.WaitResult;
    const [first] = messages.map((fields) => new Message(fields));
    if (!first || failures(first).length > 0) return [];
    // A time was read from the clock of this machine, which may be wrong.
    const position = /^(cur|msg)_/.test(since)
      ? 'the position at which this wait began'
      : `${since}, at which this wait began: by the clock of the server it came at ${first.receivedAt}`;
    return [
      `${JSON.stringify(first.subject)} matches, but came before ${position}: pass since: 'start' to include it.`,
    ];
  } catch {
    signal?.throwIfAborted();
    return [];
  }
}
