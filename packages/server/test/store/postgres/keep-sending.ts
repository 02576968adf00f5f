import { setTimeout } from 'node:timers/promises';
import { expect } from 'vitest';
import type { InboxRecord } from '../../../src/inboxes/records.ts';
import type { Store } from '../../../src/store.ts';
import { mailTo, T } from '../builders.ts';

/** Calls without a pause would take the processor from the server that starts. */
const RETRY_MS = 20;

/**
 * Adds messages to an inbox from three senders, each of which goes on after an error of the storage.
 * @param acknowledged gets the subject of each message that was stored
 * @param signal ends it after the calls that are under way
 */
export async function keepSending(
  store: Store,
  inbox: InboxRecord,
  acknowledged: string[],
  signal: AbortSignal,
): Promise<void> {
  const sender = async (name: number): Promise<void> => {
    for (let n = 0; !signal.aborted; n++) {
      const subject = `${name}-${n}`;
      await store.messages
        .addBatch([mailTo([inbox], { subject, maxMessages: 1e6 })], T)
        .then(() => acknowledged.push(subject))
        .catch(async (error) => {
          expect(error.code).toMatch(/^(unavailable|outcome_unknown)$/);
          await setTimeout(RETRY_MS);
        });
    }
  };
  await Promise.all([1, 2, 3].map(sender));
}
