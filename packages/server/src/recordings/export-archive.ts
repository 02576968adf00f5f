import { once } from 'node:events';
import { Readable } from 'node:stream';
import { RECORDING_VERSION, type RecordedMessage, type Recording } from '@mayfly/client/contract';
import { ZipFile } from 'yazl';
import type { Clock } from '../clock.ts';
import { AppError, toError } from '../errors.ts';
import { toTime } from '../http/response/time.ts';
import type { InboxRecord } from '../inboxes/records.ts';
import { rawPieces } from '../messages/contents.ts';
import type { FullMessageRecord } from '../messages/records.ts';
import type { Store } from '../store.ts';

type ExportDeps = { store: Store; clock: Clock };

const PAGE = 200;

const entryOf = (message: FullMessageRecord, number: number): RecordedMessage => ({
  file: `messages/${String(number).padStart(5, '0')}.eml`,
  receivedAt: toTime(message.receivedAt),
  size: message.size,
  envelope: { ...message.envelope, rcptTo: message.rcptTo },
});

/** Yields the messages, oldest first. Skips those that are deleted during the export. */
async function* messagesOf({ store, clock }: ExportDeps, inboxId: string): AsyncGenerator<FullMessageRecord> {
  for (let after = 0; ; ) {
    const page = await store.messages.listAfter(inboxId, { after, limit: PAGE }, clock.now());
    for (const { id } of page) {
      const message = await store.messages.find(inboxId, id, clock.now());
      if (message) yield message;
    }
    const last = page.at(-1);
    if (!last || page.length < PAGE) return;
    after = last.receivedAt;
  }
}

/** The stream fails if the inbox ends, so that an incomplete archive does not look complete. */
export function recordingArchive(deps: ExportDeps, inbox: InboxRecord): Readable {
  const { store, clock } = deps;
  const zip = new ZipFile();
  // The types of yazl declare an interface without the methods of Readable.
  const output = zip.outputStream as Readable;
  const closed = new Promise((resolve) => output.once('close', resolve));
  const messages: RecordedMessage[] = [];
  const write = async (): Promise<void> => {
    for await (const message of messagesOf(deps, inbox.id)) {
      if (output.destroyed) return;
      const entry = entryOf(message, messages.length + 1);
      const source = Readable.from(rawPieces(deps, message, { start: 0, end: message.size }), {
        objectMode: false,
      });
      zip.addReadStream(source, entry.file, { mtime: new Date(message.receivedAt), size: message.size });
      await Promise.race([once(source, 'close'), closed]);
      messages.push(entry);
    }
    if (!(await store.inboxes.find(inbox.accountId, inbox.id, clock.now()))) {
      throw new AppError('not_found', 'The inbox ended while it was exported.');
    }
    const { address, labels, createdAt } = inbox;
    const recorded = { address, labels, createdAt: toTime(createdAt) };
    const head = { format: 'mayfly-recording', version: RECORDING_VERSION } as const;
    const recording: Recording = { ...head, inbox: recorded, messages };
    zip.addBuffer(Buffer.from(JSON.stringify(recording, null, 2)), 'inbox.json');
    zip.end();
  };
  write().catch((error: unknown) => output.destroy(toError(error)));
  return output;
}
