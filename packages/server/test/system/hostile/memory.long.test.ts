import { describe, expect, it } from 'vitest';
import { noise } from '../../hostile/bombs.ts';
import { inForm, timeLimit } from '../../support/form.ts';
import { useSiteOfTest } from '../nodes/nodes.ts';

/** A little less than the largest message. */
const BYTES = 50 * 1024 * 1024;
const LIMIT = { timeout: timeLimit(300_000) };
const text = (body: Buffer, charset = 'utf-8') =>
  Buffer.concat([Buffer.from(`Subject: x\r\nContent-Type: text/plain; charset=${charset}\r\n\r\n`), body]);
const related = (html: string, imageBytes: number) =>
  Buffer.from(
    `Subject: x\r\nContent-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n${html}\r\n--b\r\nContent-Type: image/png\r\nContent-ID: <a>\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.alloc(imageBytes, 1).toString('base64')}\r\n--b--\r\n`,
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
  ['one image that the page shows 300 times', () => related('<img src="cid:a">'.repeat(300), 750_000)],
  ['50 MiB of any bytes', () => noise(BYTES - 100)],
  ['a text of short lines', () => text(Buffer.alloc(BYTES - 100, 'a\n'))],
  ['a text with a NUL in each line', () => text(Buffer.alloc(BYTES - 100, 'a\0\r\n'))],
  ['a text in one byte a letter', () => text(Buffer.alloc(BYTES - 100, '\xb0\xb1\r\n', 'latin1'), 'cp437')],
  ['a text of different words', differentWords],
  [
    'a page of one image in one attribute',
    () => related(`<img srcset="${'cid:a '.repeat(150_000)}">`, 1_000),
  ],
];

describe('a message that takes much memory costs its requests at most, never the process', LIMIT, () => {
  const site = useSiteOfTest(1, { engine: 'SQLite' });
  it.each(inForm(MAILS.slice(0, 2), MAILS))('%s', async (_, mail) => {
    const server = site().node(0);
    const path = `/v1/inboxes/${(await server.createInbox()).id}/messages`;
    const headers = { 'content-type': 'message/rfc822' };
    // 503 if parsing exceeds the time limit of a response.
    const { status } = await server.api('POST', path, { body: mail(), headers });
    expect(status).toBeOneOf([201, 503]);
    const { messages } = (await server.api('GET', `${path}?limit=1`)).body;
    const message = `${path}/${messages[0]?.id}`;
    const requests: [string, string, object?][] = [
      ['POST', `${message}/preview`, {}],
      ['GET', `${message}/lint`],
      ['GET', message],
      ['GET', `${path}?text=needle+in+a+haystack`],
    ];
    for (const [method, url, body] of requests) {
      const response = await server.api(method, url, { body });
      expect([url, response.status]).toEqual([url, expect.toBeOneOf([200, 503])]);
    }
    expect((await server.api('GET', '/healthz')).status).toBe(200);
    expect(server.process.exitCode).toBeNull();
  });
});
