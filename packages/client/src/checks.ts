/** Waits with conditions that the server does not know. Loaded by the first one. */
import type * as api from './generated/api.ts';
import { Message } from './message.ts';
import { split } from './split.ts';
import { now } from './time.ts';
import { timeoutError } from './timeout.ts';
import type { Transport } from './transport.ts';
import { asked, hold, type WaitFor, type WaitTarget } from './wait.ts';

/** As {@link waitForMessages}, with conditions that are checked here. @throws WaitTimeoutError */
export async function waitAndCheck(
  transport: Transport,
  inbox: WaitTarget,
  wanted: WaitFor,
): Promise<Message[]> {
  const { match, count, timeoutMs, signal } = wanted;
  const end = now() + timeoutMs;
  const { onServer, failures } = split(match);
  const found: Message[] = [];
  const rejected: api.SeenMessage[] = [];
  for (let { since } = wanted; ; ) {
    // One message at a time, each behind the one before.
    const held = await hold(
      transport,
      inbox.id,
      { match: onServer, count: 1, since, ...asked(wanted) },
      end,
      signal,
    );
    if (!held.result.matched)
      throw await timeoutError(transport, inbox, wanted, found.length, rejected, held);
    for (const fields of held.result.messages) {
      const message = new Message(fields);
      const failed = failures(message);
      if (failed.length === 0) found.push(message);
      else rejected.unshift({ message, failed });
    }
    if (found.length >= count) return found;
    since = held.result.cursor;
  }
}
