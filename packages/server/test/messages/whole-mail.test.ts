import { beforeAll, expect, it } from 'vitest';
import { describeOnEngines, useServers } from '../support/nodes.ts';
import { smtpClient } from '../support/smtp-script.ts';
import type { TestApp } from '../support/start-app.ts';

/** One red pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==',
  'base64',
);
const HTML = `<html><head><title>Not visible</title><style>p { color: red }</style></head><body>
<p>Hello &amp; welcome.</p><p style="display:none">Hidden words</p>
<img src="cid:logo@shop.example" alt="Our logo"><img src="https://shop.example/open.gif" alt="">
<a href="https://shop.example/confirm?t=1&amp;utm_source=mail">Confirm</a></body></html>`;
const FORWARDED = [
  'From: Bo <bo@partner.example>',
  'To: app@shop.example',
  'Date: Fri, 06 Feb 2026 09:00:00 +0100',
  'Subject: The original',
  'Content-Type: text/html; charset=utf-8',
  '',
  '<p>Your code is 482913.</p><a href="https://partner.example/reset?t=9">Reset the password</a>',
  '',
].join('\r\n');

describeOnEngines('a mail that an application sent, read on another server', (engine) => {
  const { first, last } = useServers(engine);
  let inbox: Awaited<ReturnType<TestApp['createInbox']>>;
  // biome-ignore lint/suspicious/noExplicitAny: JSON as a client reads it.
  let mail: any;

  beforeAll(async () => {
    inbox = await first().createInbox();
    await first().send({
      from: 'Shop <no-reply@shop.example>',
      sender: 'mailer@relay.example',
      to: inbox.address,
      subject: 'Welcome',
      text: 'Hello & welcome.',
      html: HTML,
      icalEvent: { method: 'REQUEST', content: 'BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n' },
      attachments: [
        { filename: 'logo.png', content: PNG, cid: 'logo@shop.example', contentDisposition: 'inline' },
        {
          filename: 'prices.csv',
          content: 'a;b\r\n',
          contentType: 'text/csv; charset=utf-8; header=present',
        },
        { contentType: 'message/rfc822', content: FORWARDED, filename: 'original.eml' },
      ],
    });
    const { body } = await last().api('POST', `/v1/inboxes/${inbox.id}/wait`, { as: inbox.token, body: {} });
    [mail] = body.messages;
  });

  it('has the words that a reader of its HTML sees', () => {
    expect(mail.htmlText).toContain('Hello & welcome.');
    for (const unseen of ['Not visible', 'color', 'Hidden words', '<'])
      expect(mail.htmlText).not.toContain(unseen);
    expect(mail.sender).toEqual({ address: 'mailer@relay.example', name: '' });
  });

  it('has its images with what they say to those who do not see them', () => {
    expect(mail.images).toEqual([
      { src: 'cid:logo@shop.example', alt: 'Our logo' },
      { src: 'https://shop.example/open.gif', alt: '' },
    ]);
  });

  it('has its structure, part by part', () => {
    const types = mail.structure.map(({ contentType }: { contentType: string }) => contentType);
    expect(types[0]).toBe('multipart/mixed');
    for (const type of [
      'text/plain',
      'text/html',
      'image/png',
      'text/csv',
      'message/rfc822',
      'text/calendar',
    ]) {
      expect(types).toContain(type);
    }
  });

  it('has the parameters of its attachments, and counts inline images apart', async () => {
    const byName = (name: string) =>
      mail.attachments.find(({ filename }: { filename: string }) => filename === name);
    expect(byName('prices.csv')).toMatchObject({
      ...{ contentType: 'text/csv', disposition: 'attachment' },
      parameters: { charset: 'utf-8', header: 'present' },
    });
    expect(byName('logo.png')).toMatchObject({ contentId: 'logo@shop.example', disposition: 'inline' });
    const calendar = mail.attachments.find(
      ({ contentType }: { contentType: string }) => contentType === 'text/calendar',
    );
    expect(calendar?.parameters).toMatchObject({ method: 'REQUEST' });
    expect(mail.inlineCount).toBeGreaterThanOrEqual(1);
    const bytes = await fetch(`${last().url}${new URL(byName('prices.csv').url, last().url).pathname}`, {
      headers: { authorization: `Bearer ${inbox.token}` },
    });
    expect(await bytes.text()).toBe('a;b\r\n');
  });

  it('shows the message within the message', () => {
    const inner = mail.attachments.find(
      ({ contentType }: { contentType: string }) => contentType === 'message/rfc822',
    );
    expect(inner.message).toMatchObject({
      ...{ subject: 'The original', from: { address: 'bo@partner.example', name: 'Bo' } },
      codes: [{ value: '482913' }],
      links: [{ href: 'https://partner.example/reset?t=9', kind: 'reset' }],
    });
  });

  it('is a page in a browser, by a link of any server, with its own images and none of others', async () => {
    const path = `/v1/inboxes/${inbox.id}/messages/${mail.id}/preview`;
    const { body } = await first().api('POST', path, { as: inbox.token, body: {} });
    expect(body.remoteCount).toBe(1);
    const { pathname } = new URL(body.url, first().url);
    const page = await fetch(`${last().url}${pathname}`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    const html = await page.text();
    const [src] = /[^"']*\/att_\d+(?=["'])/.exec(html) ?? [];
    const image = await fetch(new URL(src ?? '', page.url));
    expect(Buffer.from(await image.arrayBuffer()).equals(PNG)).toBe(true);
    expect(html).toContain('Hello &amp; welcome.');
  });

  it('that was refused is listed with the reason, on any server', async () => {
    const typo = inbox.address.replace('@', 'x@');
    const client = await smtpClient(first().smtp.port);
    await client.play([
      '→ 220',
      'EHLO app.shop.example → 250',
      'MAIL FROM:<app@shop.example> → 250',
      `RCPT TO:<${typo}> → 550 5.1.1`,
      'QUIT → 221',
    ]);
    const path = `/v1/refusals?address=${encodeURIComponent(typo)}`;
    await expect
      .poll(async () => (await last().api('GET', path)).body.refusals)
      .toMatchObject([
        {
          ...{
            address: typo,
            mailFrom: 'app@shop.example',
            helo: 'app.shop.example',
            remoteAddress: '127.0.0.1',
          },
          ...{ reply: '550 5.1.1 No such inbox here', fault: null },
        },
      ]);
    const { body } = await last().api('POST', `/v1/inboxes/${inbox.id}/wait`, {
      body: { match: { subject: 'reset' }, timeoutSeconds: 0 },
    });
    expect(body.explanation.nearMisses).toMatchObject([{ address: typo, outcome: 'refused', times: 1 }]);
  });
});
