import { beforeEach, describe, expect, it } from 'vitest';
import { noise } from '../../hostile/bombs.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import type { Inbox, ServerProcess } from '../../support/server-process.ts';
import { useSiteOfTest } from '../nodes/nodes.ts';

/** A little less than the largest message. */
const BYTES = 50 * 1024 * 1024;
const text = (type: string, body: Buffer) =>
  Buffer.concat([Buffer.from(`Subject: x\r\n${type}\r\n\r\n`), body]);
const PLAIN = 'Content-Type: text/plain; charset=utf-8';
const related = (html: string, image: Buffer) =>
  Buffer.from(
    `Subject: x\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n${html}\r\n--b\r\nContent-Type: image/png\r\nContent-ID: <a>\r\nContent-Transfer-Encoding: base64\r\n\r\n${image.toString('base64')}\r\n--b--\r\n`,
  );

function differentWords(): Buffer {
  const words = Buffer.alloc(BYTES - 1_000);
  for (let at = 0, i = 0; at < words.length; i++) at += words.write(`${(i + 1e6).toString(36)} `, at);
  const page = Array.from({ length: 40 }, (_, i) => `word${i}`).join(' ');
  const parts = [words.toString('latin1'), `Content-Type: text/html\r\n\r\n<p>${page}`];
  return Buffer.from(
    `Subject: x\r\nContent-Type: multipart/alternative; boundary=b\r\n\r\n--b\r\n\r\n${parts.join('\r\n--b\r\n')}\r\n--b--\r\n`,
  );
}

/** Mails that take much memory to read or to show. */
const MAILS: [string, () => Buffer][] = [
  [
    'one image that the page shows 300 times',
    () => related('<img src="cid:a">'.repeat(300), Buffer.alloc(750_000, 1)),
  ],
  ['50 MiB of any bytes', () => noise(BYTES - 100)],
  ...inForm<[string, () => Buffer][]>(
    [],
    [
      ['a text of short lines', () => text(PLAIN, Buffer.alloc(BYTES - 100, 'a\n'))],
      ['a text with a NUL in each line', () => text(PLAIN, Buffer.alloc(BYTES - 100, 'a\0\r\n'))],
      [
        'a text in one byte a letter',
        () =>
          text(
            'Content-Type: text/plain; charset=cp437',
            Buffer.alloc(BYTES - 100, '\xb0\xb1\r\n', 'latin1'),
          ),
      ],
      ['a text of different words', differentWords],
      [
        'a page of one image in one attribute',
        () => related(`<img srcset="${'cid:a '.repeat(150_000)}">`, Buffer.alloc(1_000)),
      ],
    ],
  ),
];

describe('a message that takes much memory costs its requests at most, never the process', () => {
  const site = useSiteOfTest(1, { engine: 'SQLite' });
  let server: ServerProcess;
  let inbox: Inbox;
  beforeEach(async () => {
    server = site().node(0);
    inbox = await server.createInbox();
  });

  async function inject(mail: Buffer): Promise<string> {
    const headers = { 'content-type': 'message/rfc822' };
    const path = `/v1/inboxes/${inbox.id}/messages`;
    const { status } = await server.api('POST', path, { body: mail, headers });
    // 503 if parsing exceeds the time limit of a response.
    expect(status).toBeOneOf([201, 503]);
    const { messages } = (await server.api('GET', `${path}?limit=1`)).body;
    return messages[0]?.id ?? '';
  }

  it.each(MAILS)(
    '%s',
    async (_, mail) => {
      const message = `/v1/inboxes/${inbox.id}/messages/${await inject(mail())}`;
      const requests: [string, string, object?][] = [
        ['POST', `${message}/preview`, {}],
        ['GET', `${message}/lint`],
        ['GET', message],
        ['GET', `/v1/inboxes/${inbox.id}/messages?text=needle+in+a+haystack`],
      ];
      for (const [method, path, body] of requests) {
        const response = await server.api(method, path, { body });
        expect([path, response.status]).toEqual([path, expect.toBeOneOf([200, 503])]);
      }
      expect((await server.api('GET', '/healthz')).status).toBe(200);
      expect(server.process.exitCode).toBeNull();
    },
    timeLimit(300_000),
  );
});
