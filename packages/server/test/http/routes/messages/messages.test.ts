import { createHash } from 'node:crypto';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { RAW_PIECE_BYTES } from '../../../../src/reading/sql.ts';
import { startHttp } from '../../start-http.ts';

const PDF = Buffer.from(Array.from({ length: 1000 }, (_, i) => i % 256));

const MAIL = `Received: from mx.example.org by mayfly.test; Wed, 4 Mar 2026 05:06:07 +0000
From: Shop <shop@example.org>
To: ada@mayfly.test
Subject: Your code
Message-ID: <1@example.org>
Date: Wed, 4 Mar 2026 05:06:07 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: text/plain; charset=utf-8

Your code is 482913
--b
Content-Type: application/pdf
Content-Disposition: attachment; filename*=utf-8''%E2%82%AC%20rates%22%0D%0ASet-Cookie%3A.pdf
Content-Transfer-Encoding: base64

${PDF.toString('base64').replaceAll(/.{76}/g, '$&\n')}
--b
Content-Type: text/html
Content-Disposition: attachment; filename="../../evil.html"

<script>alert(1)</script>
--b--
`.replaceAll('\n', '\r\n');

const http = await startHttp();
const inbox = await http.createInbox();
const id = await http.deliverRaw(inbox, MAIL);
const path = `/v1/inboxes/${inbox.id}/messages/${id}`;
afterAll(() => http.stop());

const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');

describe('messages', () => {
  const get = (target: string, headers: Record<string, string> = {}) =>
    http.api('GET', target, { as: inbox.token, headers });

  it('are listed with what a list shows, and read in full', async () => {
    const [summary] = (await get(`/v1/inboxes/${inbox.id}/messages`)).body.messages;
    expect(summary).toEqual({
      ...{ id, inboxId: inbox.id, receivedAt: new Date(http.clock.now()).toISOString() },
      from: { address: 'shop@example.org', name: 'Shop' },
      ...{ to: [{ address: 'ada@mayfly.test', name: '' }], cc: [], rcptTo: ['Test+tag@mayfly.test'] },
      ...{ subject: 'Your code', preview: 'Your code is 482913', codes: expect.any(Array) },
      ...{ size: MAIL.length, attachmentCount: 2, inlineCount: 0, hasAttachments: true },
      ...{ readAt: null, tags: [] },
    });
    const { body } = await get(path);
    expect(body).toMatchObject({
      ...{ ...summary, text: expect.stringContaining('482913'), html: null, htmlText: null, sender: null },
      rfcMessageId: expect.stringContaining('1@example.org'),
      date: '2026-03-04T05:06:07.000Z',
      envelope: { mailFrom: 'bounce@example.org', rcptTo: ['Test+tag@mayfly.test'], tls: false },
      ...{ rawUrl: `${http.url}${path}/raw`, authentication: null, parseError: null },
    });
    expect(body.headers[1]).toEqual({ name: 'From', value: 'Shop <shop@example.org>' });
    expect(body.attachments[0]).toMatchObject({
      ...{ contentType: 'application/pdf', parameters: {}, size: 1000, sha256: sha256(PDF) },
      ...{ disposition: 'attachment', contentId: null },
    });
    expect(body.attachments[0].url.startsWith(`${http.url}${path}/attachments/`)).toBe(true);
    expect(body).not.toHaveProperty('htmlWords');
    expect(body.attachments[0]).not.toHaveProperty('content');
  });

  it('say in each list whom they were sent to where that is not just the address of the inbox', async () => {
    const { address } = inbox;
    const hidden = [[address], [address.toUpperCase()]];
    const shown = [[address.replace('@', '+reset@')], [address, 'Somebody.Else@mayfly.test']];
    for (const rcptTo of [...hidden, ...shown]) {
      const expected = hidden.includes(rcptTo) ? undefined : rcptTo;
      const sent = await http.deliver(inbox, { rcptTo, subject: 'Whose' });
      const own = `/v1/inboxes/${inbox.id}/messages`;
      for (const list of [own, `${own}?q=whose`, '/v1/messages', '/v1/messages?q=whose']) {
        const [first] = (await http.api('GET', list)).body.messages;
        expect([list, first.id, first.rcptTo]).toEqual([list, sent, expected]);
      }
      expect((await get(`${own}/${sent}`)).body.rcptTo).toEqual(expected);
    }
  });

  it('show their one-time codes alike in the list and in full', async () => {
    const codes = [{ value: '482913', context: 'Your code is 482913' }];
    const coded = await http.deliver(inbox, { codes });
    expect((await get(`/v1/inboxes/${inbox.id}/messages?limit=1`)).body.messages).toMatchObject([{ codes }]);
    expect((await get(`/v1/inboxes/${inbox.id}/messages/${coded}`)).body.codes).toEqual(codes);
  });

  it('carry their attachments in base64 when that is asked for', async () => {
    const { body } = await get(`${path}?include=attachmentContent`);
    expect(Buffer.from(body.attachments[0].content, 'base64')).toEqual(PDF);
    expect((await get(`${path}?include=everything`)).body.errors).toMatchObject([{ path: 'include' }]);
  });

  it('give back their source byte for byte, with its length, a large one too', async () => {
    const raw = await get(`${path}/raw`);
    expect(raw.headers.get('content-type')).toBe('message/rfc822');
    expect(raw.headers.get('content-length')).toBe(String(MAIL.length));
    expect(Buffer.from(raw.bytes).toString('latin1')).toBe(MAIL);
    const bytes = new Uint8Array(3_000_000).map((_, i) => (i * 7) % 251);
    const large = await http.deliver(inbox, { raw: bytes });
    const answer = await get(`/v1/inboxes/${inbox.id}/messages/${large}/raw`);
    expect(Buffer.compare(answer.bytes, bytes)).toBe(0);
  });

  it('break off the answer, and do not end it short, when the message is deleted meanwhile', async () => {
    const doomed = await http.deliver(inbox, { raw: new Uint8Array(4_000_000) });
    const target = `/v1/inboxes/${inbox.id}/messages/${doomed}`;
    const { messages } = http.store;
    const { readRaw } = messages;
    using _reading = vi.spyOn(messages, 'readRaw').mockImplementation(async (...args) => {
      if (args[2] === 1) await messages.delete(inbox.id, doomed, http.clock.now());
      return readRaw(...args);
    });
    await expect(get(`${target}/raw`)).rejects.toThrow();
    expect((await get(`${target}/raw`)).status).toBe(404);
  });

  it('give their attachments for download only, whatever the sender called them', async () => {
    const [pdf, html] = (await get(path)).body.attachments;
    const download = await get(new URL(pdf.url).pathname);
    expect(Buffer.compare(download.bytes, PDF)).toBe(0);
    expect(download.headers.get('set-cookie')).toBe(null);
    const harmless = /^attachment; filename="[^"\\/]*"; filename\*=UTF-8''[\w%.-]+$/;
    for (const { headers } of [download, await get(new URL(html.url).pathname)]) {
      expect(headers.get('content-disposition')).toMatch(harmless);
      expect(headers.get('content-security-policy')).toBe("sandbox; default-src 'none'");
      expect(headers.get('x-content-type-options')).toBe('nosniff');
    }
    expect(download.headers.get('content-disposition')).toContain('%E2%82%AC');
    expect((await get(`${path}/attachments/att_unknown`)).status).toBe(404);
  });

  it('name an attachment in at most 255 bytes, which file systems allow', async () => {
    const box = await http.createInbox();
    const name = `${'東京'.repeat(60)}.pdf`;
    const mail = MAIL.replace(/filename\*=.*/, `filename*=utf-8''${encodeURIComponent(name)}`);
    const long = await http.deliverRaw(box, mail);
    const { body } = await http.api('GET', `/v1/inboxes/${box.id}/messages/${long}`);
    const { headers } = await http.api('GET', new URL(body.attachments[0].url).pathname);
    const [, encoded = ''] = /''(\S+)$/.exec(headers.get('content-disposition') ?? '') ?? [];
    expect(decodeURIComponent(encoded)).toBe('東京'.repeat(40));
  });

  it('give ranges of attachments', async () => {
    const target = new URL((await get(path)).body.attachments[0].url).pathname;
    const range = (value: string, more = {}) => get(target, { range: value, ...more });
    const cases: [string, number, number][] = [
      ['bytes=0-99', 0, 100],
      ['bytes=990-', 990, 1000],
      ['bytes=-10', 990, 1000],
      ['bytes=-5000', 0, 1000],
      ['bytes=900-5000', 900, 1000],
    ];
    for (const [value, first, end] of cases) {
      const part = await range(value);
      expect(part.status).toBe(206);
      expect(part.headers.get('content-range')).toBe(`bytes ${first}-${end - 1}/1000`);
      expect(Buffer.compare(part.bytes, PDF.subarray(first, end))).toBe(0);
    }
    for (const value of ['bytes=1000-', 'bytes=-0']) {
      const none = await range(value);
      expect([none.status, none.body.code]).toEqual([416, 'range_not_satisfiable']);
      expect(none.headers.get('content-range')).toBe('bytes */1000');
    }
    for (const value of ['bytes=0-1,5-6', 'bytes=9-1', 'lines=1-2', 'bytes=x']) {
      expect((await range(value)).bytes).toHaveLength(1000);
    }
    const { headers } = await get(target);
    const tag = headers.get('etag') ?? '';
    expect((await range('bytes=0-0', { 'if-range': tag })).status).toBe(206);
    expect((await range('bytes=0-0', { 'if-range': '"other"' })).status).toBe(200);
  });

  it('answer 304 while nothing changed, and only then', async () => {
    const list = `/v1/inboxes/${inbox.id}/messages?limit=2`;
    const attachment = new URL((await get(path)).body.attachments[0].url).pathname;
    for (const target of [list, path, `${path}/raw`, attachment]) {
      const tag = (await get(target)).headers.get('etag') ?? '';
      const same = await get(target, { 'if-none-match': `"other", ${tag}` });
      expect([target, same.status, same.bytes.length]).toEqual([target, 304, 0]);
      expect((await get(target, { 'if-none-match': '"other"' })).status).toBe(200);
    }
    const tag = (await get(list)).headers.get('etag') ?? '';
    const added = await http.deliver(inbox);
    const changed = await get(list, { 'if-none-match': tag });
    expect([changed.status, changed.body.messages[0].id]).toEqual([200, added]);
    await http.api('DELETE', `/v1/inboxes/${inbox.id}/messages/${added}`);
    const third = changed.headers.get('etag') ?? '';
    expect((await get(list, { 'if-none-match': third })).status).toBe(200);
  });

  it('are gone once deleted, source and all', async () => {
    const doomed = await http.deliver(inbox);
    const target = `/v1/inboxes/${inbox.id}/messages/${doomed}`;
    expect((await http.api('DELETE', target)).status).toBe(204);
    expect((await http.api('DELETE', target)).status).toBe(404);
    for (const gone of [target, `${target}/raw`]) expect((await get(gone)).status).toBe(404);
  });

  it('are listed as they are now, whatever time or limit each reader gives', async () => {
    const box = await http.createInbox();
    const ids: string[] = [];
    for (let n = 0; n < 5; n++) ids.unshift(await http.deliver(box));
    let since = Date.parse('2020-01-01');
    /** Sends a request that was not sent before. */
    const listed = async (limit = 50): Promise<string[]> => {
      const query = `limit=${limit}&since=${++since}`;
      const { body } = await http.api('GET', `/v1/inboxes/${box.id}/messages?${query}`);
      expect(body.hasMore).toBe(limit < ids.length);
      return body.messages.map((message: { id: string }) => message.id);
    };
    const asTheyAre = async () => {
      for (const limit of [50, 3, 50, 3, 4]) expect(await listed(limit)).toEqual(ids.slice(0, limit));
    };
    await asTheyAre();
    const [doomed = ''] = ids.splice(2, 1);
    await http.api('DELETE', `/v1/inboxes/${box.id}/messages/${doomed}`);
    await asTheyAre();
    ids.unshift(await http.deliver(box));
    await asTheyAre();
  });

  it('answer HEAD as GET, without the body', async () => {
    for (const target of [`/v1/inboxes/${inbox.id}/messages`, path, `${path}/raw`]) {
      const head = await http.api('HEAD', target);
      expect([head.status, head.bytes.length]).toEqual([200, 0]);
      expect(Number(head.headers.get('content-length'))).toBeGreaterThan(0);
    }
  });

  it('name URLs under the host that the client named', async () => {
    const { body } = await get(path, { host: 'mail.example.org:8025' });
    expect(body.rawUrl).toBe(`http://mail.example.org:8025${path}/raw`);
  });
});

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

describe('attachments', () => {
  /** All attachments of a message: as they are listed, and their bytes. */
  async function download(id: string) {
    const path = `/v1/inboxes/${inbox.id}/messages/${id}`;
    const { body } = await http.api('GET', path);
    const files: string[] = [];
    for (const { id: attachment, size, sha256: listed } of body.attachments) {
      const { status, bytes } = await http.api('GET', `${path}/attachments/${attachment}`);
      expect([status, bytes.length, sha256(bytes)]).toEqual([200, size, listed]);
      files.push(Buffer.from(bytes).toString());
    }
    return files;
  }

  it('have the bytes of the sent file, whatever their encoding and their size', async () => {
    const [short, long] = [lines(3), lines(40_000)];
    const plain = [short, long].flatMap((text): [string, string][] => [
      ['7bit', text],
      ['base64', base64(text)],
    ]);
    const mail = mailWith(...plain, ['quoted-printable', long.replaceAll(';', '=3B')]);
    const id = await http.deliverRaw(inbox, mail);
    // The line break before a delimiter belongs to it, and the files end in one of their own.
    expect(await download(id)).toEqual([short, short, long, long, long]);
  });

  it('are decoded from base64 with noise and padding anywhere, at the ends of pieces too', async () => {
    const noisy = Buffer.from(lines(14_000)).toString('base64').replaceAll(/.{7}/g, '$& !-\r\n');
    const padded = 'QQ==\r\nQkI=\r\nQ0ND\r\n'.repeat(15_000);
    const encoded = Array.from({ length: 8 }, (_, n) => '!'.repeat(n) + (n % 2 === 0 ? noisy : padded));
    const files = encoded.map((_, n) => (n % 2 === 0 ? lines(14_000) : 'ABBCCC'.repeat(15_000)));
    const mail = mailWith(...encoded.map((text): [string, string] => ['base64', text]));
    expect(await download(await http.deliverRaw(inbox, mail))).toEqual(files);
  });

  it('are read from their range of the raw source, and from no other piece of it', async () => {
    const filler = lines(Math.ceil((2.5 * RAW_PIECE_BYTES) / 15));
    const id = await http.deliverRaw(inbox, mailWith(['7bit', filler], ['7bit', lines(2)]));
    const path = `/v1/inboxes/${inbox.id}/messages/${id}`;
    using readRaw = vi.spyOn(http.store.messages, 'readRaw');
    const answer = await http.api('GET', `${path}/attachments/att_2`);
    expect(Buffer.from(answer.bytes).toString()).toBe(lines(2));
    expect(readRaw.mock.calls.map(([, , piece]) => piece)).toEqual([2]);
    expect((await http.api('GET', `${path}/attachments/att_3`)).status).toBe(404);
    expect((await http.api('GET', `${path}/attachments/nonsense`)).status).toBe(404);
  });
});
