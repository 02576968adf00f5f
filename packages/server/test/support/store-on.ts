import { type Kit, runOn } from '../../src/database/sql.ts';
import type { NewMail } from '../../src/messages/records.ts';
import type { Reading } from '../../src/reading/sql.ts';
import { type ReadSources, type Store, storeOf } from '../../src/store.ts';

/** A store that runs its operations directly on an engine, without threads and hints. */
export const storeOn = (kit: Kit, read?: ReadSources): Store =>
  storeOf(
    (_path, operation, args) => runOn(operation, args, kit),
    { generation: () => null, pendingWrites: () => 0, close: () => kit.close() },
    read,
  );

/** A mail with its parsed content, which {@link withReadings} stores right after the mail. */
export type ReadMail = NewMail & { reading: Reading };

const isRead = (mail: NewMail): mail is ReadMail => 'reading' in mail;

/** Calls that are storing mails with their parsed content. */
const storing = new Set<Promise<unknown>>();

/** For stores that read beside others that store mail in this process by {@link withReadings}. */
export const readHere: ReadSources = async () => {
  await Promise.allSettled(storing);
};

export function withReadings(store: Store): Store {
  const add: Store['messages']['addBatch'] = async (mails, now) => {
    // The store may take over the bytes.
    const read = mails.map((mail) => isRead(mail) && { ...mail.reading, size: mail.raw.length });
    const placed = await store.messages.addBatch(mails, now);
    const kept = placed.flatMap((places, index) => {
      const [stored] = places.filter((place) => 'messageId' in place);
      const reading = read[index];
      return stored && reading ? [{ ...reading, source: stored.source }] : [];
    });
    if (kept.length > 0) await store.readings.keep(kept);
    return placed;
  };
  const addBatch: typeof add = async (mails, now) => {
    const adding = add(mails, now);
    storing.add(adding);
    try {
      return await adding;
    } finally {
      storing.delete(adding);
    }
  };
  return { ...store, messages: { ...store.messages, addBatch } };
}
