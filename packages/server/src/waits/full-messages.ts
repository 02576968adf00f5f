import { setImmediate } from 'node:timers/promises';
import type { HeldDeps } from '../messages/held/held-deps.ts';
import type { MessageRecord } from '../store/contract/index.ts';
import type { WaitedMessage } from './outcome.ts';

/** A message whose content is larger is not shown in full by a wait: making its JSON would hold up others. */
const MAX_FULL_MESSAGE_BYTES = 2 * 1024 * 1024;
/** The same for all messages of one wait together: the memory of one response. */
const MAX_FULL_BYTES = 8 * 1024 * 1024;
/** After reading a message of this size others have a turn. */
const LONG_READ_BYTES = 128 * 1024;

/**
 * Reads messages in full, up to {@link MAX_FULL_BYTES} together.
 * @returns the messages in their order, and the ids of those that were deleted meanwhile
 */
export async function readInFull(
  { store, clock }: Pick<HeldDeps, 'store' | 'clock'>,
  messages: readonly MessageRecord[],
): Promise<{ found: WaitedMessage[]; gone: Set<string> }> {
  const found: WaitedMessage[] = [];
  const gone = new Set<string>();
  let left = MAX_FULL_BYTES;
  for (const message of messages) {
    const { inboxId, id, contentBytes } = message;
    if (contentBytes > Math.min(left, MAX_FULL_MESSAGE_BYTES)) {
      found.push({ message, full: null });
      continue;
    }
    left -= contentBytes;
    const full = await store.messages.find(inboxId, id, clock.now());
    // A part of a message would not be the message in full.
    if (full) found.push({ message, full: full.isPartial ? null : full });
    else gone.add(id);
    if (contentBytes > LONG_READ_BYTES) await setImmediate();
  }
  const short = found.filter(({ full }) => full === null).map(({ message }) => message);
  for (const id of await goneOf(store, short, clock.now())) gone.add(id);
  return { found: found.filter(({ message }) => !gone.has(message.id)), gone };
}

/** The ids of messages of one inbox that can no longer be read. */
export async function goneOf(
  store: HeldDeps['store'],
  messages: readonly MessageRecord[],
  now: number,
): Promise<string[]> {
  const [first] = messages;
  if (!first) return [];
  const ids = messages.map(({ id }) => id);
  const left = new Set(await store.messages.existing(first.inboxId, ids, now));
  return ids.filter((id) => !left.has(id));
}
