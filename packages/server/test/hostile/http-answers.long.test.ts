import { connect, type Socket } from 'node:net';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
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
    const header = 'Content-Disposition: attachment; filename=large.bin\r\nContent-Transfer-Encoding: base64';
    const id = await http.deliverRaw(inbox, `${header}\r\n\r\n${base64}\r\n`);
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
      const range = `bytes ${first}-${last}/${FILE.length}`;
      expect([part.status, part.headers.get('content-range')]).toEqual([206, range]);
      expect(Buffer.from(part.bytes).equals(FILE.subarray(first, last + 1))).toBe(true);
    }
  });
});

describe('the size of answers', () => {
  const http = useHttp();
  let inbox: TestInbox;
  beforeEach(async () => {
    inbox = await http.createInbox();
  });

  it('of a wait is bounded: what is too large says so, and is read by itself', async () => {
    const small = await http.deliver(inbox, { text: 'small' });
    const large = await http.deliver(inbox, { text: 'x'.repeat(3_000_000), subject: 'large' });
    for (let n = 0; n < 28; n++) await http.deliver(inbox, { text: 'y'.repeat(1_000_000) });
    const body = { count: 30, timeoutSeconds: 0 };
    const answer = await http.api('POST', `/v1/inboxes/${inbox.id}/wait`, { body });
    expect(answer.bytes.length).toBeLessThan(10 * MIB);
    const { matched, truncated, messages } = answer.body;
    expect([matched, truncated, messages.length]).toEqual([true, true, 30]);
    expect(messages[0]).toMatchObject({ id: small, text: 'small' });
    expect(messages[0]).not.toHaveProperty('truncated');
    expect(messages[1]).toMatchObject({ id: large, subject: 'large', text: null, truncated: true });
    const whole = await http.api('GET', `/v1/inboxes/${inbox.id}/messages/${large}`);
    expect(whole.body.text).toHaveLength(3_000_000);
  });

  it('with the contents of 998 attachments is bounded, and making it holds up nobody', async () => {
    const partOf = (n: number) =>
      `--b\r\nContent-Disposition: attachment; filename="${n}.csv"\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.alloc(15_000, n).toString('base64')}\r\n`;
    const parts = Array.from({ length: 998 }, (_, n) => partOf(n)).join('');
    const head = 'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b';
    const id = await http.deliverRaw(inbox, `${head}\r\n\r\n${parts}--b--\r\n`);
    let turns = 0;
    let done = false;
    const watch = (async () => {
      for (; !done; turns++) await new Promise((resolve) => setImmediate(resolve));
    })();
    const answer = await http.api('GET', `/v1/inboxes/${inbox.id}/messages/${id}?include=attachmentContent`);
    done = true;
    await watch;
    expect(answer.bytes.length).toBeLessThan(13 * MIB);
    expect(answer.body.truncated).toBe(true);
    const [first, ...others] = answer.body.attachments;
    expect(Buffer.from(first.content, 'base64')).toEqual(Buffer.alloc(15_000, 0));
    expect(others.at(-1)).not.toHaveProperty('content');
    expect(turns).toBeGreaterThan(30);
  });
});
