import { connect, type Socket } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { type TestInbox, useHttp } from '../http/start-http.ts';

const MIB = 1024 * 1024;
const UNREAD = 40;
const FILE = Buffer.alloc(24 * MIB, 'attachment of a test ');

const heldBytes = (): number => {
  const { external, heapUsed } = process.memoryUsage();
  return external + heapUsed;
};

describe('responses that nobody reads', () => {
  const http = useHttp();
  let inbox: TestInbox;
  let message: { id: string; attachments: { id: string; url: string; size: number }[] };
  beforeAll(async () => {
    inbox = await http.createInbox();
    const base64 = FILE.toString('base64').replace(/.{76}/g, '$&\r\n');
    const id = await http.deliverRaw(
      inbox,
      `From: a@example.org\r\nSubject: large\r\nMIME-Version: 1.0\r\nContent-Type: application/octet-stream\r\nContent-Disposition: attachment; filename=large.bin\r\nContent-Transfer-Encoding: base64\r\n\r\n${base64}\r\n`,
    );
    message = (await http.api('GET', `/v1/inboxes/${inbox.id}/messages/${id}`)).body;
  });

  const path = () => new URL(message.attachments[0]?.url ?? '').pathname;

  it(`${UNREAD} of an attachment of 24 MB hold less than 200 MB, garbage included, and others are served`, async () => {
    const before = heldBytes();
    const sockets: Socket[] = [];
    try {
      for (let count = 0; count < UNREAD; count++) {
        const socket = connect(http.port, '127.0.0.1');
        socket.on('error', () => undefined);
        socket.pause();
        socket.write(`GET ${path()} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${http.keys.own}\r\n\r\n`);
        sockets.push(socket);
      }
      let highest = 0;
      for (let turn = 0; turn < 200; turn++) {
        const answer = await http.api('GET', `/v1/inboxes/${inbox.id}`);
        expect(answer.status).toBe(200);
        highest = Math.max(highest, heldBytes());
      }
      expect((highest - before) / MIB).toBeLessThan(200);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  it('and those that are read are whole, also in ranges', async () => {
    const whole = await http.api('GET', path());
    expect([whole.status, whole.headers.get('content-length')]).toEqual([200, String(FILE.length)]);
    expect(Buffer.from(whole.bytes).equals(FILE)).toBe(true);
    for (const [first, last] of [
      [0, 0],
      [1, 2],
      [262_143, 262_145],
      [FILE.length - 1, FILE.length - 1],
      [5 * MIB + 1, 6 * MIB],
    ] as const) {
      const part = await http.api('GET', path(), { headers: { range: `bytes=${first}-${last}` } });
      expect([part.status, part.headers.get('content-range')]).toEqual([
        206,
        `bytes ${first}-${last}/${FILE.length}`,
      ]);
      expect(Buffer.from(part.bytes).equals(FILE.subarray(first, last + 1))).toBe(true);
    }
  });
});
