import { buffer } from 'node:stream/consumers';
import { ZipFile } from 'yazl';

export function zipOf(files: Record<string, string | Buffer>): Promise<Buffer> {
  const zip = new ZipFile();
  for (const [name, content] of Object.entries(files)) zip.addBuffer(Buffer.from(content), name);
  zip.end();
  return buffer(zip.outputStream);
}

/** The index of a recording without messages. */
export const RECORDING = {
  format: 'mayfly-recording',
  version: 1,
  inbox: { address: 'old@mayfly.test', labels: { run: '7' }, createdAt: '2026-01-01T00:00:00.000Z' },
  messages: [] as object[],
};

export const EMPTY_ARCHIVE = await zipOf({ 'inbox.json': JSON.stringify(RECORDING) });
