import { once } from 'node:events';
import { connect } from 'node:net';
import { beforeAll, describe, expect, it } from 'vitest';
import { contentFields } from '../../src/mail/full-json.ts';
import { parseMail } from '../../src/mail/parse.ts';
import { type TestInbox, useHttp } from '../http/start-http.ts';

const LINE = `${'abcdefg '.repeat(9)}\r\n`;
const TEXT = LINE.repeat(80_000);
const MULTIPART = 'MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n';
const FILE =
  '--b\r\nContent-Type: image/png\r\nContent-ID: <one@x>\r\nContent-Disposition: attachment; filename=a.png\r\nContent-Transfer-Encoding: base64\r\n\r\nAAEC/w==\r\n';
const PAGE = 'a page of 6 MB and a file';

/** Mails of which the store does not keep all fields beside the raw source. */
const MAILS: Record<string, string> = {
  'a text of 6 MB': `From: a@example.org\r\nSubject: text\r\n\r\nneedle ${TEXT}`,
  [PAGE]: `Subject: page\r\n${MULTIPART}--b\r\nContent-Type: text/html\r\n\r\n<p>needle <img src="cid:one@x">${TEXT}</p>\r\n${FILE}--b--\r\n`,
  'an attached message of 6 MB and a file': `Subject: attached\r\n${MULTIPART}--b\r\n\r\nneedle\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: inner\r\n\r\n${TEXT}\r\n${FILE}--b--\r\n`,
  'control characters': `Subject: control\r\n\r\nneedle ${'\u0001'.repeat(400_000)}\u00e9`,
};

describe('a message that is read from its raw source', () => {
  const http = useHttp();
  let inbox: TestInbox;
  const ids = new Map<string, string>();
  beforeAll(async () => {
    inbox = await http.createInbox();
    for (const [name, mail] of Object.entries(MAILS)) ids.set(name, await http.deliverRaw(inbox, mail));
  });

  const path = (name: string) => `/v1/inboxes/${inbox.id}/messages/${ids.get(name)}`;
  const rawOf = async (name: string) => Buffer.from((await http.api('GET', `${path(name)}/raw`)).bytes);

  it.each(Object.keys(MAILS))('is shown in full: %s', async (name) => {
    const found = await http.store.messages.find(inbox.id, ids.get(name) ?? '', http.clock.now());
    expect(found?.isPartial).toBe(true);
    const { status, body } = await http.api('GET', path(name));
    expect(status).toBe(200);
    const { content, index, summary } = parseMail(await rawOf(name));
    const url = new URL(`${path(name)}/attachments/`, http.url).href;
    expect(body).toMatchObject(JSON.parse(JSON.stringify(contentFields(content, index, url))));
    expect(body).toMatchObject({ id: ids.get(name), subject: summary.subject, parseError: null });
    expect(body).not.toHaveProperty('truncated');
  });

  it.each(Object.keys(MAILS))('is found by its first words: %s', async (name) => {
    const { body } = await http.api('GET', `/v1/inboxes/${inbox.id}/messages?text=needle`);
    expect(body.messages.map(({ id }: { id: string }) => id)).toContain(ids.get(name));
  });

  it('includes no attachments, and says so', async () => {
    const { body } = await http.api('GET', `${path(PAGE)}?include=attachmentContent`);
    expect(body.truncated).toBe(true);
    expect(body.attachments).toMatchObject([{ id: 'att_1', url: expect.stringContaining('att_1') }]);
    expect(body.attachments[0]).not.toHaveProperty('content');
    expect(body.html.length).toBeGreaterThan(TEXT.length * 0.9);
  });

  it.each([PAGE, 'an attached message of 6 MB and a file'])('has its attachments: %s', async (name) => {
    const { body } = await http.api('GET', path(name));
    const { url, sha256 } = body.attachments.at(-1);
    const file = await http.api('GET', new URL(url).pathname);
    expect(Buffer.from(file.bytes).toString('hex')).toBe('000102ff');
    expect(file.headers.get('etag')).toBe(`"${sha256}"`);
    expect(file.headers.get('content-type')).toBe('image/png');
  });

  it('has a preview and findings', async () => {
    const { status, body } = await http.api('POST', `${path(PAGE)}/preview`, { body: {} });
    expect([status, body.remoteCount]).toEqual([200, 0]);
    const page = await http.api('GET', new URL(body.url).pathname);
    expect(Buffer.from(page.bytes).toString()).toContain('first 4 MiB');
    const { body: lint } = await http.api('GET', `${path(PAGE)}/lint`);
    expect(lint.findings.length).toBeGreaterThan(0);
  });

  it('is in a wait with the fields of a list, and truncated', async () => {
    const asked = { body: { match: { subject: 'page' }, timeoutSeconds: 0 } };
    const { body } = await http.api('POST', `/v1/inboxes/${inbox.id}/wait`, asked);
    expect(body.messages).toMatchObject([{ subject: 'page', truncated: true }]);
  });

  it('costs nothing more once its client has left', async () => {
    const socket = connect(http.port, '127.0.0.1');
    await once(socket, 'connect');
    const request = `GET ${path('a text of 6 MB')} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${http.keys.own}\r\n\r\n`;
    socket.write(request.repeat(3));
    socket.destroy();
    expect((await http.api('GET', path('a text of 6 MB'))).status).toBe(200);
    expect(http.logged.filter((line) => line.includes('"level":50'))).toEqual([]);
  });
});
