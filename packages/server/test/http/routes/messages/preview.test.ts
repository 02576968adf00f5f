import { beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestInbox, useAccounts } from '../../start-http.ts';

const related = (...parts: string[]) =>
  `Subject: x\r\nMIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=b\r\n\r\n${parts.map((part) => `--b\r\n${part}\r\n`).join('')}--b--\r\n`;
const page = (html: string) => `Content-Type: text/html\r\n\r\n${html}`;
const image = (id: string, bytes: Buffer, type = 'image/png') =>
  `Content-Type: ${type}\r\nContent-ID: <${id}>\r\nContent-Disposition: inline\r\nContent-Transfer-Encoding: base64\r\n\r\n${bytes.toString('base64')}`;

const LONG_LINE = `${'more '.repeat(200)}\r\n`;

describe('a link to the preview of a message', () => {
  const http = useAccounts();
  let inbox: TestInbox;
  let path: string;
  beforeEach(async () => {
    inbox = await http.createInbox();
    path = await messageIn(inbox.id);
  });

  const HELLO =
    'Subject: Hi\r\nContent-Type: text/html\r\n\r\n<p>Hello there</p><img src="https://x.example/a.png">\r\n';
  const messageIn = async (id: string, mail = HELLO): Promise<string> =>
    `/v1/inboxes/${id}/messages/${await http.deliverRaw({ id }, mail)}`;
  const pageOf = async (mail: string) => open(await linkTo(await messageIn(inbox.id, mail)));

  const linkTo = async (message = path, remoteContent = false): Promise<string> => {
    const { status, body } = await http.api('POST', `${message}/preview`, { body: { remoteContent } });
    expect(status).toBe(200);
    expect(Date.parse(body.expiresAt)).toBe(http.clock.now() + 600_000);
    return new URL(body.url).pathname;
  };
  const open = (link: string) => http.api('GET', link, { as: null });

  it('shows the message without a credential for ten minutes', async () => {
    const link = await linkTo();
    const { status, body, headers } = await open(link);
    expect([status, body.includes('Hello there')]).toEqual([200, true]);
    expect([headers.get('cache-control'), headers.get('set-cookie')]).toEqual(['private, no-store', null]);
    const policy = headers.get('content-security-policy');
    expect(policy).toMatch(/^sandbox allow-popups.*default-src 'none'/);
    expect(policy).not.toContain('https:');
    expect((await http.api('POST', link)).status).toBe(405);
    await http.clock.leap(599_999);
    expect((await open(link)).status).toBe(200);
    await http.clock.leap(1);
    expect((await open(link)).status).toBe(404);
  });

  it('shows the text of a message without HTML, with links that can be clicked and nothing else of HTML', async () => {
    const { body } = await pageOf(
      'Subject: Confirm\r\n\r\nOpen https://shop.example/confirm?a=1&b="2 <b>now</b> or\r\nhttps://shop.example/other, javascript:alert(1)\r\n',
    );
    expect(body).toMatch(/<a href="https:\/\/shop\.example\/confirm\?a=1&amp;b=/);
    expect(body).toMatch(/<a href="(https:\/\/shop\.example\/other)"[^>]*>\1<\/a>, javascript/);
    expect(body).toContain('&lt;b>now&lt;/b> or');
    expect(body.match(/<a /g)).toHaveLength(2);
  });

  it('ends with its message and with its inbox', async () => {
    const [one, other] = [await linkTo(), await linkTo(await messageIn(inbox.id))];
    expect((await http.api('DELETE', path)).status).toBe(204);
    expect([(await open(one)).status, (await open(other)).status]).toEqual([404, 200]);
    expect((await http.api('DELETE', `/v1/inboxes/${inbox.id}`)).status).toBe(204);
    expect((await open(other)).status).toBe(404);
    const ending = await http.createInbox();
    const last = await linkTo(await messageIn(ending.id));
    expect((await http.api('POST', `/v1/inboxes/${ending.id}/expire`)).status).toBe(204);
    expect((await open(last)).status).toBe(404);
  });

  it('ends with the API key that asked for it, when that is revoked or expires', async () => {
    const key = async (fields: object) => (await http.api('POST', '/v1/keys', { body: fields })).body;
    const expiresAt = new Date(http.clock.now() + 60_000).toISOString();
    const revoked = await key({ name: 'one' });
    const expiring = await key({ name: 'two', expiresAt });
    const linkWith = async (as: string) =>
      new URL((await http.api('POST', `${path}/preview`, { as, body: {} })).body.url).pathname;
    const links = [await linkWith(revoked.key), await linkWith(expiring.key), await linkWith(inbox.token)];
    const statuses = async () => Promise.all(links.map(async (link) => (await open(link)).status));
    expect(await statuses()).toEqual([200, 200, 200]);
    expect((await http.api('DELETE', `/v1/keys/${revoked.id}`)).status).toBe(204);
    expect(await statuses()).toEqual([404, 200, 200]);
    await http.clock.leap(60_000);
    expect(await statuses()).toEqual([404, 404, 200]);
  });

  it('leads to a page that has each image once, however often and wherever the mail shows it', async () => {
    const bytes = Buffer.alloc(750_000, 'image');
    const uses = '<img src="cid:a@x"><td background="cid:a%40x">';
    const html = `<style>p{background:url(cid:a@x)}</style>${uses.repeat(150)}`;
    const link = await linkTo(await messageIn(inbox.id, related(page(html), image('a@x', bytes))));
    const { body, headers } = await open(link);
    expect(body.length).toBeLessThan(100_000);
    const url = `${link.replace('/preview/', '')}/att_1`;
    expect(body.split(url)).toHaveLength(302);
    expect(headers.get('content-security-policy')).toContain(` img-src data: http://*:*${link}/;`);
    const shown = await open(`${link}/att_1`);
    expect([shown.status, shown.headers.get('content-type')]).toEqual([200, 'image/png']);
    expect(Buffer.from(shown.bytes).equals(bytes)).toBe(true);
  });

  it('leads to no part of the message but its images', async () => {
    const types = ['image/svg+xml', 'text/html', 'application/pdf'];
    const parts = types.map((type) => image(type, Buffer.of(1), type));
    const mail = related(page('<img src="cid:image/svg+xml">'), ...parts);
    const link = await linkTo(await messageIn(inbox.id, mail));
    expect((await open(link)).body).toContain('"cid:image/svg+xml"');
    for (const id of ['att_1', 'att_2', 'att_3', 'att_4', 'raw'])
      expect([id, (await open(`${link}/${id}`)).status]).toEqual([id, 404]);
  });

  it('leads to images until it ends', async () => {
    const message = await messageIn(inbox.id, related(page('<img src="cid:a">'), image('a', Buffer.of(1))));
    const [link, other] = [await linkTo(message), await linkTo()];
    expect((await open(`${link}/att_1`)).status).toBe(200);
    expect((await open(`${other}/att_1`)).status).toBe(404);
    expect((await open(`${link.slice(0, -1)}/att_1`)).status).toBe(404);
    await http.clock.leap(600_000);
    expect((await open(`${link}/att_1`)).status).toBe(404);
  });

  it('shows HTML of more than a megabyte whole: a large image within it does not hide what follows', async () => {
    const picture = `<img src="data:image/png;base64,${'A'.repeat(2_000_000)}">`;
    const { body } = await pageOf(related(page(`${picture}\r\n<p>The end</p>`)));
    expect([body.includes('<p>The end</p>'), body.includes('are shown')]).toEqual([true, false]);
  });

  it.each([
    ['HTML', page(`<p>The beginning</p>${LONG_LINE.repeat(4_500)}<a target=_top href=x>The end</a>`)],
    ['text', `Content-Type: text/plain\r\n\r\nThe beginning\r\n${LONG_LINE.repeat(4_500)}The end`],
  ])('shows the first four megabytes of longer %s, and says so', async (_, part) => {
    const { body } = await pageOf(related(part));
    expect(body.slice(0, 500)).toContain('Only the first 4 MiB of this message are shown.');
    expect([body.includes('The beginning'), body.includes('The end')]).toEqual([true, false]);
    expect(body.length).toBeLessThan(4.1 * 1024 * 1024);
  });

  it.each([
    ['references to images', `<style>${'cid:a '.repeat(150_000)}</style>`],
    ['quotation marks', `<a target=x title='${'"'.repeat(1_500_000)}'>`],
  ])('leads to a note in place of a page that would be too large: %s', async (_, html) => {
    const { status, body } = await pageOf(related(page(html), image('a', Buffer.of(1))));
    expect([status, body.length]).toEqual([200, expect.any(Number)]);
    expect(body.slice(0, 500)).toContain('would be a page of more than 8 MiB');
  });

  it('cannot be changed: each letter of it counts, and the answer to a false one is always the same', async () => {
    const link = await linkTo();
    const other = await linkTo(await messageIn((await http.createInbox()).id));
    const unknown = await open('/preview/pv_unknown');
    const answer = ({ status, body }: Awaited<ReturnType<typeof open>>) => [status, body.code, body.detail];
    const swapped = link.replace(/msg_[^.]+/, /msg_[^.]+/.exec(other)?.[0] ?? '');
    const remote = link.replace('.0.', '.1.');
    const later = link.replace(/\.0\.[^.]+/, `.0.${(http.clock.now() + 1e9).toString(36)}`);
    for (const bad of [swapped, remote, later, `${link}x`, link.slice(0, -1), link.replace('pv_', '')]) {
      expect([bad, ...answer(await open(bad))]).toEqual([bad, ...answer(unknown)]);
    }
    for (let at = '/preview/'.length; at < link.length - 1; at++) {
      const changed = link.slice(0, at) + (link[at] === 'a' ? 'b' : 'a') + link.slice(at + 1);
      expect([changed, (await open(changed)).status]).toEqual([changed, 404]);
    }
    expect((await open(link)).status).toBe(200);
    for (const odd of ['%00', 'pv_', '..%2f', `pv_${'a'.repeat(5_000)}`])
      expect(String((await open(`/preview/${odd}`)).status)).toMatch(/^4/);
  });

  it('is made for ten of an account at a time, and the check of another account waits for none of them', async () => {
    const link = await linkTo();
    const foreign = await http.createInbox({}, http.keys.foreign);
    const theirs = await http.deliverRaw(foreign, HELLO, http.foreignId);
    const released = Promise.withResolvers<void>();
    let reading = 0;
    const { readRaw } = http.store.messages;
    using _reading = vi.spyOn(http.store.messages, 'readRaw').mockImplementation(async (inboxId, ...rest) => {
      if (inboxId === inbox.id) {
        reading += 1;
        await released.promise;
      }
      return readRaw(inboxId, ...rest);
    });
    const page = open(link);
    await expect.poll(() => reading).toBe(1);
    const previews = Array.from({ length: 10 }, () => linkTo());
    await expect.poll(() => reading).toBe(2);
    // The page has no credential that could have been revoked.
    await http.recheckHeld();
    const lint = `/v1/inboxes/${foreign.id}/messages/${theirs}/lint`;
    expect((await http.api('GET', lint, { as: http.keys.foreign })).status).toBe(200);
    expect(reading).toBe(2);
    released.resolve();
    await Promise.all(previews);
    expect((await page).status).toBe(200);
    expect((await http.api('GET', `${path}/lint`)).status).toBe(200);
  });
});
