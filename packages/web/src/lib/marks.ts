import type { api } from '@mayfly/client';
import { signal } from '@preact/signals';
import { attempt } from './actions.ts';
import { mayfly, mayWrite } from './session.ts';
import { serverNow } from './time.ts';

/*
 * Read state and tags of mails. The stream has no events for them, so changes by this browser are stored
 * here, shared with its other tabs, and override what lists have loaded.
 */

type Marks = Pick<api.MessageSummary, 'readAt' | 'tags'>;

type Marked = Marks & Pick<api.MessageSummary, 'id' | 'inboxId'>;

const changed = signal<ReadonlyMap<string, Marks>>(new Map());
const tabs = new BroadcastChannel('mayfly marks');
tabs.onmessage = ({ data }: MessageEvent<[string, Marks]>) => keep([data]);

function keep(marks: readonly (readonly [id: string, marks: Marks])[]): void {
  changed.value = new Map([...changed.value, ...marks]);
}

/** The current marks of a mail. */
export const marksOf = ({ id, readAt, tags }: Marks & { id: string }): Marks =>
  changed.value.get(id) ?? { readAt, tags };

/** Serialises changes, because two changes of the same mail could be reordered. */
let queue: Promise<unknown> = Promise.resolve();

/**
 * Changes marks of mails. The page shows the change immediately, and reverts it with an error if the request
 * fails. Does nothing for read-only sessions.
 */
export function mark(messages: readonly Marked[], change: (marks: Marks) => api.MarkMessage): void {
  if (!mayWrite.value) return;
  const changes = messages.map((message) => {
    const before = marksOf(message);
    const body = change(before);
    const { read = before.readAt !== null, tags = before.tags } = body;
    const readAt = read ? (before.readAt ?? new Date(serverNow()).toISOString()) : null;
    return { message, body, before, after: { readAt, tags } };
  });
  keep(changes.map(({ message, after }) => [message.id, after]));
  const rest = new Set(changes);
  const send = () =>
    eachOf(changes, async (one) => {
      const { id: messageId, inboxId: id } = one.message;
      const path = { id, messageId };
      await mayfly.call('PATCH /v1/inboxes/{id}/messages/{messageId}', { path, body: one.body });
      rest.delete(one);
      tabs.postMessage([messageId, one.after]);
    });
  queue = queue.then(async () => {
    await attempt(send);
    if (rest.size > 0) keep([...rest].map(({ message, before }) => [message.id, before]));
  });
}

/** Concurrent requests; a browser allows six connections. */
const AT_ONCE = 4;

/** Processes each item, a few concurrently. @throws the first failure, after which no further item is begun */
export async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
