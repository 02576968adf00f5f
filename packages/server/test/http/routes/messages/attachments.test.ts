import { createHash } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { RAW_PIECE_BYTES } from '../../../../src/reading/sql.ts';
import { startHttp } from '../../start-http.ts';

const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');

/** A mail with these attachments, each with its transfer encoding and its encoded bytes. */
function mailWith(...parts: [encoding: string, encoded: string][]): string {
  const inner = parts.map(
    ([encoding, encoded], at) =>
      `--b\r\nContent-Type: text/csv; name="${at}.csv"\r\nContent-Disposition: attachment\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n${encoded}\r\n`,
  );
  return `Subject: files\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\ntext\r\n${inner.join('')}--b--\r\n`;
}

const lines = (count: number) => 'one;two;three\r\n'.repeat(count);
const base64 = (text: string) => Buffer.from(text).toString('base64').replaceAll(/.{76}/g, '$&\r\n');

const http = await startHttp();
const inbox = await http.createInbox();
/** Pieces of raw sources that were read. */
const read: number[] = [];
const { messages } = http.store;
const { readRaw } = messages;
messages.readRaw = (inboxId, messageId, piece, now) => {
  read.push(piece);
  return readRaw(inboxId, messageId, piece, now);
};
afterAll(() => http.stop());

describe('attachments', () => {
  /** All attachments of a message: as they are listed, and their bytes. */
  async function download(id: string) {
    const path = `/v1/inboxes/${inbox.id}/messages/${id}`;
    const { body } = await http.api('GET', path);
    const files: { size: number; sha256: string; bytes: Uint8Array }[] = [];
    for (const { id: attachment, size, sha256: listed } of body.attachments) {
      const answer = await http.api('GET', `${path}/attachments/${attachment}`);
      expect(answer.status).toBe(200);
      files.push({ size, sha256: listed, bytes: answer.bytes });
    }
    for (const { size, sha256: listed, bytes } of files) {
      expect([bytes.length, sha256(bytes)]).toEqual([size, listed]);
    }
    return files.map(({ bytes }) => Buffer.from(bytes).toString());
  }

  it('have the bytes of the sent file, whatever their encoding and their size', async () => {
    const [short, long] = [lines(3), lines(40_000)];
    const quoted = long.replaceAll(';', '=3B');
    const id = await http.deliverRaw(
      inbox,
      mailWith(
        ['7bit', short],
        ['base64', base64(short)],
        ['7bit', long],
        ['base64', base64(long)],
        ['quoted-printable', quoted],
      ),
    );
    // The line break before a delimiter belongs to it, and the files end in one of their own.
    expect(await download(id)).toEqual([short, short, long, long, long]);
  });

  it('are read from their range of the raw source, and from no other piece of it', async () => {
    const filler = lines(Math.ceil((2.5 * RAW_PIECE_BYTES) / 15));
    const id = await http.deliverRaw(inbox, mailWith(['7bit', filler], ['7bit', lines(2)]));
    const path = `/v1/inboxes/${inbox.id}/messages/${id}`;
    read.length = 0;
    const answer = await http.api('GET', `${path}/attachments/att_2`);
    expect(Buffer.from(answer.bytes).toString()).toBe(lines(2));
    expect(read).toEqual([2]);
    expect((await http.api('GET', `${path}/attachments/att_3`)).status).toBe(404);
    expect((await http.api('GET', `${path}/attachments/nonsense`)).status).toBe(404);
  });
});
