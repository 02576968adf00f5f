import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  Envelope,
  Labels,
  RECORDING_VERSION,
  type RecordedMessage,
  Recording,
} from '@mayfly/client/contract';
import Value from 'typebox/value';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { AppError } from '../../../errors.ts';
import { quoted } from '../../../nearest.ts';

/** `inbox.json` of 10,000 messages with long envelopes has a few megabytes. */
const MAX_INDEX_BYTES = 16 * 1024 * 1024;
const INDEX = 'inbox.json';
/** The named schemas that the index refers to. */
const SCHEMAS = { 'Labels#': Labels, 'Envelope#': Envelope };

/** A recorded inbox whose index was read and checked; the messages are read one by one. */
export interface OpenRecording {
  recording: Recording;
  /** @returns the raw source; it fails with AppError `malformed_recording` */
  read(message: RecordedMessage): Readable;
  close(): void;
}

const malformed = (text: string): AppError => new AppError('malformed_recording', text);
/** The text of an error without its full stop. */
const reasonOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\.$/, '');

/** Folders, and what macOS adds to archives. */
const NO_FILE = /\/$|^__MACOSX\/|(?:^|\/)\.DS_Store$/;
/** Entries that are left out, such as folders, cost a look each; more than so many for each file are a bomb. */
const MAX_OTHERS_PER_FILE = 4;

/** The files of an archive by their names. */
async function entriesOf(zip: ZipFile, most: number): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  let others = 0;
  for await (const entry of zip.eachEntry()) {
    const isFile = !NO_FILE.test(entry.fileName);
    if (isFile) entries.set(entry.fileName.replace(/^\.\//, ''), entry);
    else others += 1;
    if (entries.size > most || others > MAX_OTHERS_PER_FILE * most)
      throw malformed(`The archive has more than ${most} files, the limit for this inbox.`);
  }
  return withoutFolder(entries);
}

/** Somebody may have unpacked an archive and packed the folder: its files are then those of the archive. */
function withoutFolder(entries: Map<string, Entry>): Map<string, Entry> {
  if (entries.has(INDEX)) return entries;
  const indexes = [...entries.keys()].filter((name) => name.split('/').slice(1).join('/') === INDEX);
  const [only] = indexes;
  if (only === undefined || indexes.length > 1) return entries;
  const folder = only.slice(0, -INDEX.length);
  const inside = [...entries].filter(([name]) => name.startsWith(folder));
  return new Map(inside.map(([name, entry]) => [name.slice(folder.length), entry]));
}

function readIndex(text: string): Recording {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw malformed(`"${INDEX}" in the archive is not JSON: ${reasonOf(error)}.`);
  }
  if (Value.Check(SCHEMAS, Recording, value)) return value as Recording;
  const [first] = Value.Errors(SCHEMAS, Recording, value);
  const where = first ? ` at ${quoted(first.instancePath || '/')}: it ${first.message}` : '';
  throw malformed(
    `"${INDEX}" in the archive is not a recording of version ${RECORDING_VERSION}${where}. Make recordings with GET /v1/inboxes/{id}/export.`,
  );
}

/**
 * Opens the archive of a recorded inbox and checks its index; nothing else is read yet.
 * @param maxMessages what the inbox may hold that will take the messages
 * @throws AppError `malformed_recording` that names what is wrong
 */
export async function openRecording(path: string, maxMessages: number): Promise<OpenRecording> {
  const zip = await openPromise(path, { lazyEntries: true, autoClose: false }).catch((error: unknown) => {
    throw malformed(
      `The body is not a whole zip archive (${reasonOf(error)}). Send the file as GET /v1/inboxes/{id}/export returned it.`,
    );
  });
  async function* bytesOf(entries: Map<string, Entry>, name: string): AsyncGenerator<Uint8Array> {
    const entry = entries.get(name);
    if (!entry)
      throw malformed(
        `The archive has no file ${quoted(name)}. Send it as GET /v1/inboxes/{id}/export returned it.`,
      );
    try {
      // yauzl fails when an entry has more or fewer bytes than it says.
      yield* await zip.openReadStreamPromise(entry);
    } catch (error) {
      throw malformed(`The file ${quoted(name)} of the archive cannot be read: ${reasonOf(error)}.`);
    }
  }
  try {
    const entries = await entriesOf(zip, maxMessages + 1).catch((error: unknown) => {
      if (error instanceof AppError) throw error;
      throw malformed(`The archive cannot be read: ${reasonOf(error)}.`);
    });
    if ((entries.get(INDEX)?.uncompressedSize ?? 0) > MAX_INDEX_BYTES) {
      throw malformed(`"${INDEX}" in the archive has more than ${MAX_INDEX_BYTES} bytes.`);
    }
    const recording = readIndex((await buffer(bytesOf(entries, INDEX))).toString());
    for (const { file } of recording.messages) {
      if (!entries.has(file))
        throw malformed(`The archive has no file ${quoted(file)}, which "${INDEX}" names.`);
    }
    if (recording.messages.length > maxMessages) {
      throw malformed(
        `The recording has ${recording.messages.length} messages; an inbox holds ${maxMessages} at most.`,
      );
    }
    return {
      recording,
      read: ({ file }) => Readable.from(bytesOf(entries, file), { objectMode: false }),
      close: () => zip.close(),
    };
  } catch (error) {
    zip.close();
    throw error;
  }
}
