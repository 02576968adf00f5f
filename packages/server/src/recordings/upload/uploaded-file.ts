import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Busboy } from '@fastify/busboy';
import { AppError } from '../../errors.ts';

/** A file in a folder of its own that only this user can read. */
export interface UploadedFile {
  path: string;
  remove(): Promise<void>;
}

/** Parts of a form that are read; those after the first file are ignored. */
const MAX_FORM_PARTS = 20;

/** Fails after `limit` bytes. */
function limitedTo(limit: number): Transform {
  let bytes = 0;
  return new Transform({
    transform(chunk: Uint8Array, _encoding, done) {
      bytes += chunk.length;
      if (bytes <= limit) done(null, chunk);
      else
        done(
          new AppError('payload_too_large', `The file is larger than ${limit} bytes. Upload a smaller one.`),
        );
    },
  });
}

function formParser(contentType: string): InstanceType<typeof Busboy> {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: { files: 1, fields: 0, parts: MAX_FORM_PARTS },
    });
  } catch {
    throw noFile();
  }
}

/** For a pipeline, which otherwise destroys the request, and with it the socket, after a failure. */
const pieces = (body: Readable): AsyncIterable<Uint8Array> => body.iterator({ destroyOnReturn: false });

/** Stores the first file of a multipart body (RFC 7578). @throws AppError for a body without a file */
async function storeFirstFile(
  body: Readable,
  contentType: string,
  path: string,
  limit: number,
): Promise<void> {
  const parser = formParser(contentType);
  let stored: Promise<void> | undefined;
  let failure: unknown;
  parser.on('file', (_field: string, file: Readable) => {
    stored = pipeline(file, limitedTo(limit), createWriteStream(path));
    // Parsing stops then; the failure is thrown below.
    stored.catch((error: Error) => {
      // Only errors of the parser have no code: the body ended within the form.
      failure = 'code' in error ? error : cutOff();
      parser.destroy();
    });
  });
  parser.once('partsLimit', () => parser.destroy(noFile()));
  try {
    await pipeline(pieces(body), parser);
  } catch {
    if (!stored) throw noFile();
  }
  if (!stored) throw noFile();
  await stored.catch(() => {
    throw failure;
  });
}

const noFile = (): AppError =>
  new AppError(
    'malformed_recording',
    'The body of the type "multipart/form-data" has no file. Send the archive as its first file, for example with "curl --form file=@inbox.zip".',
  );

const cutOff = (): AppError =>
  new AppError(
    'malformed_recording',
    'The body of the type "multipart/form-data" ends within its file. Send the whole form, with its last boundary.',
  );

/**
 * Stores the body of a request, or the first file of a multipart body, as a file of at most `limit` bytes.
 * @throws AppError `payload_too_large`, `malformed_recording` for a multipart body without a whole file
 */
export async function storeUpload(
  body: Readable,
  headers: IncomingHttpHeaders,
  limit: number,
): Promise<UploadedFile> {
  const folder = await mkdtemp(join(tmpdir(), 'mayfly-upload-'));
  const path = join(folder, 'file');
  const remove = () => rm(folder, { recursive: true, force: true });
  const contentType = headers['content-type'] ?? '';
  try {
    if (contentType.toLowerCase().startsWith('multipart/form-data'))
      await storeFirstFile(body, contentType, path, limit);
    else await pipeline(pieces(body), limitedTo(limit), createWriteStream(path));
    return { path, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}
