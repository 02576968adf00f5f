import { createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Busboy } from '@fastify/busboy';
import { Envelope, Labels, RECORDING_VERSION, RecordedMessage, Recording } from '@mayfly/client/contract';
import { type TSchema, Type } from 'typebox';
import Value from 'typebox/value';
import { type Entry, openPromise, type ZipFile } from 'yauzl';
import { AppError, messageOf } from '../errors.ts';
import type { Parsing } from '../reading/parsing.ts';
import { quoted } from '../text/nearest.ts';

const MAX_FORM_PARTS = 20;

/** After a failure, the body is not destroyed, because the response is sent on the same socket. */
const piecesOf = (body: Readable): AsyncIterable<Uint8Array> => body.iterator({ destroyOnReturn: false });

async function* limited(body: Readable, limit: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of piecesOf(body)) {
    bytes += piece.length;
    if (bytes > limit) {
      const message = `The file is larger than ${limit} bytes. Upload a smaller one.`;
      throw new AppError('payload_too_large', message);
    }
    yield piece;
  }
}

/** Stores the first file of a multipart body (RFC 7578). @throws AppError for a body without a whole file */
async function storeFirstFile(body: Readable, contentType: string, path: string, limit: number) {
  let parser: InstanceType<typeof Busboy>;
  try {
    const limits = { files: 1, fields: 0, parts: MAX_FORM_PARTS };
    parser = new Busboy({ headers: { 'content-type': contentType }, limits });
  } catch {
    throw noFile();
  }
  let stored: Promise<void> | undefined;
  parser.on('file', (_field: string, file: Readable) => {
    stored = pipeline(limited(file, limit), createWriteStream(path)).catch((error: Error) => {
      parser.destroy();
      // An error without a code comes from the parser: the body ended within the form.
      throw 'code' in error ? error : cutOff();
    });
    stored.catch(() => undefined);
  });
  parser.once('partsLimit', () => parser.destroy(noFile()));
  await pipeline(piecesOf(body), parser).catch(() => undefined);
  if (!stored) throw noFile();
  await stored;
}

const noFile = (): AppError =>
  malformed(
    'The body of the type "multipart/form-data" has no file. Send the archive as its first file, for example with "curl --form file=@inbox.zip".',
  );

const cutOff = (): AppError =>
  malformed(
    'The body of the type "multipart/form-data" ends within its file. Send the whole form, with its last boundary.',
  );

/** Limit of `inbox.json`. For 10,000 messages with long envelopes, it has a few megabytes. */
const MAX_INDEX_BYTES = 16 * 1024 * 1024;
const INDEX = 'inbox.json';
/** Limit of a `jsonLines` line, which has 20 messages, each with up to 100 recipients of 320 characters. */
const MAX_LINE_BYTES = 1024 * 1024;
/** Limit of unpacked size / packed size. Mail reaches 10; a decompression bomb has far more. */
const MAX_EXPANSION = 20;
/** Unpacked size that is always allowed, because small archives of identical mails compress better. */
const EXPANSION_ALLOWANCE_BYTES = 64 * 1024 * 1024;
const LF = 0x0a;
const Messages = Type.Array(RecordedMessage);
const SCHEMAS = { 'Labels#': Labels, 'Envelope#': Envelope };

export interface OpenRecording {
  recording: Recording;
  /** The raw source. The stream fails with AppError `malformed_recording` if the archive is damaged there. */
  read(message: RecordedMessage): Readable;
  close(): Promise<void>;
}

const malformed = (text: string): AppError => new AppError('malformed_recording', text);
const reasonOf = (error: unknown): string => messageOf(error).replace(/\.$/, '');

/** Entries that are not files of a recording: folders, and files that macOS adds. */
const NO_FILE = /\/$|^__MACOSX\/|(?:^|\/)\.DS_Store$/;
/** Limit of such entries per file of the recording: reading each takes time, so many could be an attack. */
const MAX_OTHERS_PER_FILE = 4;

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

/** Removes the folder from the paths, if a user has unpacked the archive and packed it again as a folder. */
function withoutFolder(entries: Map<string, Entry>): Map<string, Entry> {
  if (entries.has(INDEX)) return entries;
  const indexes = [...entries.keys()].filter((name) => name.split('/').slice(1).join('/') === INDEX);
  const [only] = indexes;
  if (only === undefined || indexes.length > 1) return entries;
  const folder = only.slice(0, -INDEX.length);
  const inside = [...entries].filter(([name]) => name.startsWith(folder));
  return new Map(inside.map(([name, entry]) => [name.slice(folder.length), entry]));
}

function checked<T>(schema: TSchema, value: unknown, pathOf = (path: string) => path): T {
  if (Value.Check(SCHEMAS, schema, value)) return value as T;
  const [first] = Value.Errors(SCHEMAS, schema, value);
  const where = first ? ` at ${quoted(pathOf(first.instancePath) || '/')}: it ${first.message}` : '';
  throw malformed(
    `"${INDEX}" in the archive is not a recording of version ${RECORDING_VERSION}${where}. Make recordings with GET /v1/inboxes/{id}/export.`,
  );
}

async function* valuesOf(lines: Uint8Array): AsyncGenerator<unknown> {
  for (let start = 0; start < lines.length; ) {
    const found = lines.indexOf(LF, start);
    const end = found < 0 ? lines.length : found;
    if (end - start > MAX_LINE_BYTES)
      throw malformed(`"${INDEX}" in the archive has a field that is too long.`);
    yield JSON.parse(new TextDecoder().decode(lines.subarray(start, end)));
    start = end + 1;
    await nextTurn();
  }
}

async function readIndex(bytes: Uint8Array, parsing: Pick<Parsing, 'run'>, maxMessages: number) {
  const { lines, problem } = await parsing.run('jsonLines', [bytes, 'messages']);
  if (problem !== '') throw malformed(`"${INDEX}" in the archive is not JSON: ${reasonOf(problem)}.`);
  const values = valuesOf(lines);
  const head = checked<Recording>(Recording, (await values.next()).value);
  const messages: RecordedMessage[] = [];
  for await (const value of values) {
    const pathOf = (path: string) =>
      path.replace(/^\/(\d+)/, (_, at) => `/messages/${messages.length + Number(at)}`);
    messages.push(...checked<RecordedMessage[]>(Messages, value, pathOf));
    if (messages.length > maxMessages)
      throw malformed(`The recording has more than ${maxMessages} messages, the limit for this inbox.`);
  }
  return { ...head, messages };
}

/** Stores the archive and checks its index. @throws AppError `payload_too_large` or `malformed_recording` */
export async function receiveRecording(
  body: Readable,
  contentType: string,
  { maxBytes, maxMessages }: { maxBytes: number; maxMessages: number },
  parsing: Pick<Parsing, 'run'>,
  closed: () => void,
): Promise<OpenRecording> {
  let folder: string | undefined;
  let zip: ZipFile | undefined;
  const close = async () => {
    closed();
    zip?.close();
    if (folder) await rm(folder, { recursive: true, force: true });
  };
  try {
    folder = await mkdtemp(join(tmpdir(), 'mayfly-upload-'));
    const path = join(folder, 'file');
    if (contentType.toLowerCase().startsWith('multipart/form-data'))
      await storeFirstFile(body, contentType, path, maxBytes);
    else await pipeline(limited(body, maxBytes), createWriteStream(path));
    zip = await openPromise(path, { lazyEntries: true, autoClose: false }).catch((error: unknown) => {
      throw malformed(
        `The body is not a whole zip archive (${reasonOf(error)}). Send the file as GET /v1/inboxes/{id}/export returned it.`,
      );
    });
    const { size } = await stat(path);
    return { ...(await openRecording(zip, size, maxMessages, parsing)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openRecording(
  zip: ZipFile,
  archiveBytes: number,
  maxMessages: number,
  parsing: Pick<Parsing, 'run'>,
): Promise<Omit<OpenRecording, 'close'>> {
  const entries = await entriesOf(zip, maxMessages + 1).catch((error: unknown) => {
    throw error instanceof AppError ? error : malformed(`The archive cannot be read: ${reasonOf(error)}.`);
  });
  function entryOf(name: string): Entry {
    const entry = entries.get(name);
    if (entry) return entry;
    throw malformed(
      `The archive has no file ${quoted(name)}. Send it as GET /v1/inboxes/{id}/export returned it.`,
    );
  }
  async function* bytesOf(name: string): AsyncGenerator<Uint8Array> {
    try {
      // yauzl fails if an entry has more or fewer bytes than it declares.
      yield* await zip.openReadStreamPromise(entryOf(name));
    } catch (error) {
      throw malformed(`The file ${quoted(name)} of the archive cannot be read: ${reasonOf(error)}.`);
    }
  }
  if (entryOf(INDEX).uncompressedSize > MAX_INDEX_BYTES)
    throw malformed(`"${INDEX}" in the archive has more than ${MAX_INDEX_BYTES} bytes.`);
  const recording = await readIndex(await buffer(bytesOf(INDEX)), parsing, maxMessages);
  const bytes = recording.messages.reduce((sum, { file }) => sum + entryOf(file).uncompressedSize, 0);
  const most = MAX_EXPANSION * archiveBytes + EXPANSION_ALLOWANCE_BYTES;
  if (bytes > most)
    throw malformed(
      `The messages of the archive have ${bytes} bytes; for an archive of ${archiveBytes} bytes, ${most} is the limit. Import fewer messages at a time.`,
    );
  return { recording, read: ({ file }) => Readable.from(bytesOf(file), { objectMode: false }) };
}
