import type { api } from '@mayfly/client';
import { signal } from '@preact/signals';
import { attempt } from './actions.ts';
import { mayfly, mayWrite } from './session.ts';

/*
 * Whether a mail was read, and its tags. They change without an event of the stream: what this browser changes is
 * kept here and passed on to its other tabs, and lists show it before what they have loaded.
 */

type Marks = Pick<api.MessageSummary, 'readAt' | 'tags'>;

const changed = signal<ReadonlyMap<string, Marks>>(new Map());
const tabs = new BroadcastChannel('mayfly marks');
tabs.onmessage = ({ data: [id, marks] }: MessageEvent<[string, Marks]>) => keep(id, marks);

function keep(id: string, marks: Marks): void {
  changed.value = new Map(changed.value).set(id, marks);
}

/** The marks of a mail as they are now. */
export const marksOf = ({ id, readAt, tags }: Marks & { id: string }): Marks =>
  changed.value.get(id) ?? { readAt, tags };

/** Changes marks of mails; a failure is shown. Nothing for who only reads. */
export async function mark(
  messages: readonly Pick<api.MessageSummary, 'id' | 'inboxId'>[],
  body: api.MarkMessage,
): Promise<void> {
  if (!mayWrite.value) return;
  await attempt(() =>
    eachOf(messages, async ({ id: messageId, inboxId: id }) => {
      const { readAt, tags } = await mayfly.call('PATCH /v1/inboxes/{id}/messages/{messageId}', {
        path: { id, messageId },
        body,
      });
      keep(messageId, { readAt, tags });
      tabs.postMessage([messageId, { readAt, tags }]);
    }),
  );
}

/** Requests at the same time; a browser has six connections. */
const AT_ONCE = 4;

/** Does something with each item, a few at a time. @throws the first failure, after which none is begun */
export async function eachOf<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
