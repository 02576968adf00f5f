import { beforeEach, describe, expect, it } from 'vitest';
import { type TestInbox, useHttp } from '../http/start-http.ts';

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
    const answer = await http.api('POST', `/v1/inboxes/${inbox.id}/wait`, {
      body: { count: 30, timeoutSeconds: 0 },
    });
    expect(answer.bytes.length).toBeLessThan(10 * 1024 * 1024);
    const { matched, truncated, messages } = answer.body;
    expect([matched, truncated, messages.length]).toEqual([true, true, 30]);
    expect(messages[0]).toMatchObject({ id: small, text: 'small' });
    expect(messages[0]).not.toHaveProperty('truncated');
    expect(messages[1]).toMatchObject({ id: large, subject: 'large', text: null, truncated: true });
    const { body } = await http.api('GET', `/v1/inboxes/${inbox.id}/messages/${large}`);
    expect(body.text).toHaveLength(3_000_000);
  });

  it('with the contents of 998 attachments is bounded, and making it holds up nobody', async () => {
    const parts = Array.from(
      { length: 998 },
      (_, n) =>
        `--b\r\nContent-Type: text/csv\r\nContent-Disposition: attachment; filename="${n}.csv"\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.alloc(15_000, n).toString('base64')}\r\n`,
    );
    const raw = `Subject: parts\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n${parts.join('')}--b--\r\n`;
    const id = await http.deliverRaw(inbox, raw);
    let turns = 0;
    let done = false;
    const watch = (async () => {
      for (; !done; turns++) await new Promise((resolve) => setImmediate(resolve));
    })();
    const answer = await http.api('GET', `/v1/inboxes/${inbox.id}/messages/${id}?include=attachmentContent`);
    done = true;
    await watch;
    expect(answer.bytes.length).toBeLessThan(13 * 1024 * 1024);
    expect(answer.body.truncated).toBe(true);
    const [first, ...others] = answer.body.attachments;
    expect(Buffer.from(first.content, 'base64')).toEqual(Buffer.alloc(15_000, 0));
    expect(others.at(-1)).not.toHaveProperty('content');
    expect(turns).toBeGreaterThan(30);
  });
});
